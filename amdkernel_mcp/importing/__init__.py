"""Other people's problems as problem folders of ours."""
