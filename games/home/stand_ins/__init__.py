"""What the download has in the place of modules that need a sandbox or another package; each has the other's face."""
