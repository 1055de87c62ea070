"""Shared by the Python drivers: the lines they exchange with the test (process-driver.ts), and a bot of discord.py that
was never logged in but has its user, its guild and its voice channel, and whose shard is the test's."""

import asyncio
import json
import os
import sys
import traceback
from types import SimpleNamespace

import discord

BINDING = SimpleNamespace(**json.loads(os.environ["CLIENT_BINDING"]))


def write(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def report(event):
    write({"report": event})


def send_voice_state(guild_id, channel_id):
    channel = None if channel_id is None else str(channel_id)
    write({"send": {"op": 4, "d": {"guild_id": str(guild_id), "channel_id": channel}}})


async def serve(driver):
    """Carries out the test's calls, each in a separate task, until the test ends the process."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while text := await reader.readline():
        line = json.loads(text)
        work = driver.receive(line["packet"]) if "packet" in line else answer(driver, line)
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def answer(driver, line):
    method = getattr(driver, line["call"])
    try:
        value = await (method(line["argument"]) if "argument" in line else method())
        write({"id": line["id"], "value": value})
    except Exception:
        write({"id": line["id"], "error": traceback.format_exc()})


class Shard:
    """The part of discord.py's gateway connection that joining a voice channel needs."""

    async def voice_state(self, guild_id, channel_id, self_mute=False, self_deaf=False):
        send_voice_state(guild_id, channel_id)


async def start_bot():
    """A discord.py client in the state after its login."""
    bot = discord.Client(intents=discord.Intents.default())
    await bot._async_setup_hook()
    state = bot._connection
    state.user = discord.ClientUser(
        state=state, data={"id": BINDING.userId, "username": "bot", "discriminator": "0", "avatar": None}
    )
    channel = {
        "id": BINDING.channelId,
        "type": 2,
        "name": "music",
        "position": 0,
        "bitrate": 64000,
        "user_limit": 0,
        "permission_overwrites": [],
    }
    guild = discord.Guild(
        data={"id": BINDING.guildId, "name": "guild", "channels": [channel], "member_count": 2}, state=state
    )
    state._add_guild(guild)
    state._get_websocket = lambda *_args, **_kwargs: Shard()
    bot._ready.set()
    return bot


async def hand_to_bot(bot, packet):
    """Passes on a gateway packet as discord.py's own connection does."""
    getattr(bot._connection, f"parse_{packet['t'].lower()}")(packet["d"])
