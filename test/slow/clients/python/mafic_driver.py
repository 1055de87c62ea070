"""Drives mafic, on discord.py, as a bot would. It resumes a session only when a new process names it, so not after a drop."""

import asyncio

import mafic
from driving import BINDING, hand_to_bot, report, serve, start_bot


class Player(mafic.Player):
    """Reports updates, for which mafic has no event."""

    def update_state(self, state):
        super().update_state(state)
        report("update")


class Driver:
    async def connect(self):
        self.bot = await start_bot()

        @self.bot.event
        async def on_node_ready(_node):
            report("ready")

        @self.bot.event
        async def on_track_start(_event):
            report("start")

        @self.bot.event
        async def on_track_end(_event):
            report("end")

        self.pool = mafic.NodePool(self.bot)
        self.node = await self.pool.create_node(
            host=BINDING.host, port=BINDING.port, label="tonearm", password=BINDING.password
        )

    async def session(self):
        return self.node.session_id

    async def load(self, url):
        [self.track] = await self.node.fetch_tracks(url, search_type="")
        return {"title": self.track.title, "lengthMs": self.track.length}

    async def join(self):
        channel = self.bot.get_channel(int(BINDING.channelId))
        self.player = await channel.connect(cls=Player)

    async def play(self):
        await self.player.play(self.track)

    async def pause(self, is_paused):
        await self.player.pause(is_paused)

    async def seek(self, position_ms):
        await self.player.seek(position_ms)

    async def volume(self, percent):
        await self.player.set_volume(percent)

    async def equalizer(self, bands):
        equalizer = mafic.Equalizer([mafic.EQBand(entry["band"], entry["gain"]) for entry in bands])
        if await self.player.has_filter("equalizer"):
            await self.player.remove_filter("equalizer")
        await self.player.add_filter(mafic.Filter(equalizer=equalizer), label="equalizer")

    async def destroy(self):
        await self.player.disconnect()

    async def receive(self, packet):
        await hand_to_bot(self.bot, packet)


asyncio.run(serve(Driver()))
