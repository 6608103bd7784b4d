"""What is left of the sandbox at home: limits, and processes without a jail. Stands in for `bots.sandbox`."""
