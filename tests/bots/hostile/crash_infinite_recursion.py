import kit

kit.ready()


def fall():
    return fall()


fall()
kit.play()
