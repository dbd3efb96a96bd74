"""Run by test_forking.py: a process with an open memory forks. Prints one line for each thing that was seen."""

import asyncio
import multiprocessing
import os
import sys
import threading
from pathlib import Path

import recollect.sync
from recollect import Memory, Message
from recollect.errors import RecollectError
from recollect.testing.models import HashEmbedder

EMBEDDER = HashEmbedder()


def in_child(work) -> None:
    """Do some work in a forked process, and wait for its end."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as exc:
            print("the child failed:", repr(exc))
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(child, 0)


def tell(name, call) -> None:
    try:
        print(name, call())
    except RecollectError as exc:
        print(name, type(exc).__name__)


def use_sync(folder: Path) -> None:
    memory = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
    bank = memory.bank("ada")
    bank.retain(Message(text="from the parent", id="p1"), session="s")

    def child() -> None:
        tell("messages", bank.messages)
        tell("retain", lambda: bank.retain(Message(text="x"), session="s"))
        tell("recall", lambda: bank.recall("parent"))
        tell("bank", lambda: memory.bank("ada"))
        tell("banks", memory.banks)
        tell("close", memory.close)

    in_child(child)
    bank.retain(Message(text="from the parent again", id="p2"), session="s")
    print("parent", [message.id for message in bank.messages()])
    memory.close()


def use_async(folder: Path) -> None:
    """The parent is in the middle of a write and of a job, so locks of all kinds are held."""

    async def parent() -> None:
        async with Memory.open(folder, embedder=EMBEDDER) as memory:
            bank = await memory.bank("ada")
            await bank.retain(Message(text="from the parent", id="p1"), session="s")
            writes = [asyncio.create_task(bank.retain(Message(text=f"x {n}"), session="s")) for n in range(9)]
            await asyncio.sleep(0)

            def child() -> None:
                for name, call in {
                    "messages": lambda: bank.messages(),
                    "retain": lambda: bank.retain(Message(text="x"), session="s"),
                    "recall": lambda: bank.recall("parent"),
                    "ask": lambda: bank.ask("parent?"),
                    "forget": lambda: bank.forget(session="s"),
                    "jobs": lambda: bank.jobs(),
                    "bank": lambda: memory.bank("ada"),
                    "drop": lambda: memory.drop("ada"),
                    "close": lambda: memory.close(),
                }.items():
                    tell(name, lambda call=call: asyncio.run(call()))

            in_child(child)
            await asyncio.gather(*writes)
            print("parent", len(await bank.messages()))

    asyncio.run(parent())


def open_before_and_use_after(folder: Path) -> None:
    """As a server that loads its program before it forks, and uses the memory only in its workers."""
    waiting = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
    later = Memory.open(folder, embedder=EMBEDDER)

    def child() -> None:
        bank = waiting.bank("ada")
        bank.retain(Message(text="by a worker", id=f"w{os.getpid()}"), session="s")

        async def read() -> int:
            return len(await (await later.bank("ada")).messages())

        print("child", len(bank.messages()), asyncio.run(read()))
        waiting.close()

    in_child(child)
    in_child(child)


def write_in_a_child_while_the_parent_closes(folder: Path) -> None:
    """What the child was told is stored must outlive the end of the parent's connections."""
    memory = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
    memory.bank("ada").retain(Message(text="from the parent", id="p1"), session="s")
    context = multiprocessing.get_context("fork")
    opened, closed = context.Event(), context.Event()

    def child() -> None:
        own = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
        bank = own.bank("ada")
        bank.retain(Message(text="one", id="c1"), session="s")
        opened.set()
        closed.wait()
        bank.retain(Message(text="two", id="c2"), session="s")
        os.kill(os.getpid(), 9)

    running = context.Process(target=child)
    running.start()
    opened.wait()
    memory.close()
    closed.set()
    running.join()
    with recollect.sync.Memory.open(folder, embedder=EMBEDDER) as again:
        print("kept", [message.id for message in again.bank("ada").messages()])


def fork_while_threads_write(folder: Path) -> None:
    memory = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
    bank = memory.bank("ada")
    stop = threading.Event()
    acknowledged: list[str] = []

    def write(who: int) -> None:
        number = 0
        while not stop.is_set():
            id_ = f"t{who}-{number}"
            bank.retain(Message(text=f"note {id_}", id=id_), session=f"s{who}")
            acknowledged.append(id_)
            number += 1

    threads = [threading.Thread(target=write, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()

    def child(number: int) -> None:
        with recollect.sync.Memory.open(folder, embedder=EMBEDDER) as own:
            own.bank("ada").retain(Message(text="by a child", id=f"c{number}"), session="c")

    for number in range(5):
        in_child(lambda number=number: child(number))
        acknowledged.append(f"c{number}")
    stop.set()
    for thread in threads:
        thread.join()
    kept = {message.id for message in bank.messages()}
    memory.close()
    print("lost", sorted(set(acknowledged) - kept))


def fork_while_a_connection_is_in_use(folder: Path) -> None:
    """The fork cannot wait for ever, so the child must not open this bank, and may open another."""
    from recollect.store.sqlite import forking

    forking.FORK_WAIT_S = 0.01
    memory = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
    bank = memory.bank("ada")
    bank.retain(Message(text="from the parent", id="p1"), session="s")

    def child() -> None:
        own = recollect.sync.Memory.open(folder, embedder=EMBEDDER)
        tell("same", lambda: own.bank("ada"))
        tell("other", lambda: own.bank("bram").name)

    with bank.asynchronous._store._database.read_transaction():
        in_child(child)
    bank.retain(Message(text="from the parent", id="p2"), session="s")
    print("parent", [message.id for message in bank.messages()])
    memory.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
