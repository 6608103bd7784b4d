import asyncio
import concurrent.futures

import kit


async def think():
    return await asyncio.to_thread(sum, range(100))


if asyncio.run(think()) != 4950:
    raise SystemExit("asyncio does not work")
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    if list(pool.map(abs, range(-4, 0))) != [4, 3, 2, 1]:
        raise SystemExit("threads do not work")
kit.ready()
kit.play()
