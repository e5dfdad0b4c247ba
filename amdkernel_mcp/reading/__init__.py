"""What `read_doc` opens besides the indexed documentation: guides, problems, attempts, artefacts."""
