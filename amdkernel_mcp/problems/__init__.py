"""What a kernel must compute: problem files, launch plans, inputs, references, judgement."""
