"""Drives lavalink.py as a bot of any library would, which sends op 4 itself. The client reconnects without the id of its
session (it builds the headers before it has the id), so resuming is not tested; it moves its players instead."""

import asyncio

import lavalink
from driving import BINDING, report, send_voice_state, serve


class Driver:
    async def connect(self):
        self.client = lavalink.Client(int(BINDING.userId))
        self.client.add_event_hooks(self)
        self.node = self.client.add_node(BINDING.host, BINDING.port, BINDING.password, region="eu", name="tonearm")

    @lavalink.listener(lavalink.NodeReadyEvent)
    async def on_ready(self, _event):
        report("ready")

    @lavalink.listener(lavalink.TrackStartEvent)
    async def on_start(self, _event):
        report("start")

    @lavalink.listener(lavalink.TrackEndEvent)
    async def on_end(self, _event):
        report("end")

    @lavalink.listener(lavalink.PlayerUpdateEvent)
    async def on_update(self, _event):
        report("update")

    async def session(self):
        return self.node.session_id

    async def load(self, url):
        result = await self.client.get_tracks(url)
        self.track = result.tracks[0]
        return {"title": self.track.title, "lengthMs": self.track.duration}

    async def join(self):
        self.player = self.client.player_manager.create(int(BINDING.guildId))
        send_voice_state(BINDING.guildId, BINDING.channelId)

    async def play(self):
        await self.player.play(self.track)

    async def pause(self, is_paused):
        await self.player.set_pause(is_paused)

    async def seek(self, position_ms):
        await self.player.seek(position_ms)

    async def volume(self, percent):
        await self.player.set_volume(percent)

    async def equalizer(self, bands):
        equalizer = lavalink.Equalizer()
        equalizer.update(bands=[(entry["band"], entry["gain"]) for entry in bands])
        await self.player.set_filter(equalizer)

    async def destroy(self):
        send_voice_state(BINDING.guildId, None)
        await self.client.player_manager.destroy(int(BINDING.guildId))

    async def receive(self, packet):
        await self.client.voice_update_handler(packet)


asyncio.run(serve(Driver()))
