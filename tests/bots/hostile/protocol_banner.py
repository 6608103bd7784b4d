import kit

print("my bot 1.0")
kit.ready()
kit.play()
