import kit

kit.ready()
while True:
    kit.reply(' {"x": [1.5, null, true, {"a": -7}], "move" : "\\u0064 \\ud83d\\ude00 é" , "id":ID } \r')
kit.ready()
kit.play()
