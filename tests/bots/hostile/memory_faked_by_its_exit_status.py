import kit

kit.ready()
raise SystemExit(77)
kit.play()
