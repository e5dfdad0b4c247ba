"""What a person sees: the verdict first, then the worst, then the figures. Nothing else in the code knows Rich."""
