"""Whether a kernel computes what its problem asks: inputs, launches, reference, judgement."""
