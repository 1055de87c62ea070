"""Drives wavelink as a bot would."""

import asyncio

import wavelink
from driving import BINDING, hand_to_bot, report, serve, start_bot

# YouTube Music is wavelink's default.
SOURCES = {
    "soundcloud": {"source": wavelink.TrackSource.SoundCloud},
    "youtube": {"source": wavelink.TrackSource.YouTube},
    "youtube music": {},
}


class Driver:
    async def connect(self):
        self.bot = await start_bot()

        @self.bot.event
        async def on_wavelink_node_ready(payload):
            report("ready")
            if payload.resumed:
                report("resumed")

        @self.bot.event
        async def on_wavelink_track_start(_payload):
            report("start")

        @self.bot.event
        async def on_wavelink_track_end(_payload):
            report("end")

        @self.bot.event
        async def on_wavelink_player_update(_payload):
            report("update")

        @self.bot.event
        async def on_wavelink_track_exception(_payload):
            report("exception")

        @self.bot.event
        async def on_wavelink_track_stuck(_payload):
            report("stuck")

        self.node = wavelink.Node(uri=f"http://{BINDING.host}:{BINDING.port}", password=BINDING.password, retries=20)
        await wavelink.Pool.connect(nodes=[self.node], client=self.bot)

    async def session(self):
        return self.node.session_id

    async def load(self, url):
        [self.track] = await wavelink.Playable.search(url)
        return {"title": self.track.title, "lengthMs": self.track.length}

    async def search(self, wish):
        tracks = await wavelink.Playable.search(wish["words"], **SOURCES[wish["site"]])
        self.track = tracks[0]
        return {"title": self.track.title, "sourceName": self.track.source, "identifier": self.track.identifier}

    async def join(self):
        channel = self.bot.get_channel(int(BINDING.channelId))
        self.player = await channel.connect(cls=wavelink.Player)

    async def play(self):
        await self.player.play(self.track)

    async def pause(self, is_paused):
        await self.player.pause(is_paused)

    async def seek(self, position_ms):
        await self.player.seek(position_ms)

    async def volume(self, percent):
        await self.player.set_volume(percent)

    async def equalizer(self, bands):
        filters = self.player.filters
        filters.equalizer.set(bands=bands)
        await self.player.set_filters(filters)

    async def destroy(self):
        await self.player.disconnect()

    async def receive(self, packet):
        await hand_to_bot(self.bot, packet)


asyncio.run(serve(Driver()))
