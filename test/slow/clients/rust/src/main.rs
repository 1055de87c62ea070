//! Drives lavalink-rs as a bot would, with the lines that `process-driver.ts` describes. The client checks every 15 s
//! whether its connection still exists, and resumes its session if not.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use lavalink_rs::model::http::ResumingState;
use lavalink_rs::model::player::{Equalizer, Filters};
use lavalink_rs::model::track::TrackData;
use lavalink_rs::model::{events, BoxFuture, ChannelId};
use lavalink_rs::prelude::*;
use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Mutex;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const VOICE_TIMEOUT: Duration = Duration::from_secs(10);
const RESUME_TIMEOUT_S: u32 = 60;

struct Binding {
    hostname: String,
    password: String,
    user_id: UserId,
    guild_id: GuildId,
    channel_id: u64,
}

struct Driver {
    binding: Binding,
    client: Mutex<Option<LavalinkClient>>,
    track: Mutex<Option<TrackData>>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let driver = Arc::new(Driver { binding: read_binding()?, client: Mutex::default(), track: Mutex::default() });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(text) = lines.next_line().await? {
        let line: Value = serde_json::from_str(&text)?;
        let driver = driver.clone();
        tokio::spawn(async move {
            if let Some(packet) = line.get("packet") {
                driver.receive(packet).await;
                return;
            }
            match driver.call(line["call"].as_str().unwrap_or(""), &line["argument"]).await {
                Ok(value) => tell(json!({ "id": line["id"], "value": value })),
                Err(error) => tell(json!({ "id": line["id"], "error": error.to_string() })),
            }
        });
    }
    Ok(())
}

impl Driver {
    async fn call(&self, call: &str, argument: &Value) -> Result<Value, Failure> {
        let Binding { guild_id, channel_id, .. } = self.binding;
        match call {
            "connect" => self.connect().await,
            "session" => return Ok(json!(**self.node().await?.session_id.load())),
            "load" => return self.load(argument.as_str().ok_or("no url")?).await,
            "join" => {
                tell(voice_state(guild_id, Some(channel_id)));
                let client = self.client().await?;
                let connection = client.get_connection_info(guild_id, VOICE_TIMEOUT).await?;
                client.create_player_context(guild_id, connection).await?;
            }
            "play" => {
                let track = self.track.lock().await.clone().ok_or("no track")?;
                self.player().await?.play_now(&track).await?;
            }
            "pause" => {
                self.player().await?.set_pause(argument.as_bool().ok_or("no bool")?).await?;
            }
            "seek" => {
                let position = Duration::from_millis(argument.as_u64().ok_or("no position")?);
                self.player().await?.set_position(position).await?;
            }
            "volume" => {
                self.player().await?.set_volume(argument.as_u64().ok_or("no volume")? as u16).await?;
            }
            "equalizer" => {
                let bands: Vec<Equalizer> = serde_json::from_value(argument.clone())?;
                let filters = Filters { equalizer: Some(bands), ..Default::default() };
                self.player().await?.set_filters(filters).await?;
            }
            "destroy" => {
                self.client().await?.delete_player(guild_id).await?;
                tell(voice_state(guild_id, None));
            }
            _ => return Err(format!("unknown call {call}").into()),
        }
        Ok(Value::Null)
    }

    async fn connect(&self) {
        let handlers = events::Events {
            ready: Some(on_ready),
            track_start: Some(|_, _, _| report("start")),
            track_end: Some(|_, _, _| report("end")),
            player_update: Some(|_, _, _| report("update")),
            ..Default::default()
        };
        let node = NodeBuilder {
            hostname: self.binding.hostname.clone(),
            password: self.binding.password.clone(),
            user_id: self.binding.user_id,
            ..Default::default()
        };
        let client = LavalinkClient::new(handlers, vec![node], NodeDistributionStrategy::sharded()).await;
        *self.client.lock().await = Some(client);
    }

    async fn load(&self, url: &str) -> Result<Value, Failure> {
        let loaded = self.client().await?.load_tracks(self.binding.guild_id, url).await?;
        let Some(TrackLoadData::Track(track)) = loaded.data else {
            return Err(format!("not a track: {loaded:?}").into());
        };
        let value = json!({ "title": track.info.title, "lengthMs": track.info.length });
        *self.track.lock().await = Some(track);
        Ok(value)
    }

    async fn receive(&self, packet: &Value) {
        let Ok(client) = self.client().await else { return };
        let text = |key: &str| packet["d"][key].as_str().map(str::to_owned);
        match packet["t"].as_str() {
            Some("VOICE_STATE_UPDATE") => client.handle_voice_state_update(
                self.binding.guild_id,
                text("channel_id").and_then(|id| id.parse().ok()).map(ChannelId),
                self.binding.user_id,
                text("session_id").unwrap_or_default(),
            ),
            _ => client.handle_voice_server_update(
                self.binding.guild_id,
                text("token").unwrap_or_default(),
                text("endpoint"),
            ),
        }
    }

    async fn client(&self) -> Result<LavalinkClient, Failure> {
        Ok(self.client.lock().await.clone().ok_or("not connected")?)
    }

    async fn node(&self) -> Result<Arc<lavalink_rs::node::Node>, Failure> {
        Ok(self.client().await?.get_node_by_index(0).ok_or("no node")?)
    }

    async fn player(&self) -> Result<PlayerContext, Failure> {
        Ok(self.client().await?.get_player_context(self.binding.guild_id).ok_or("no player")?)
    }
}

fn on_ready(client: LavalinkClient, session_id: String, event: &events::Ready) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let resuming = ResumingState { resuming: Some(true), timeout: Some(RESUME_TIMEOUT_S) };
        if let Some(node) = client.get_node_by_index(0) {
            if let Err(error) = node.http.set_resuming_state(&session_id, &resuming).await {
                eprintln!("resuming: {error}");
            }
        }
        tell(json!({ "report": "ready" }));
        if event.resumed {
            tell(json!({ "report": "resumed" }));
        }
    })
}

fn report<'a>(event: &'static str) -> BoxFuture<'a, ()> {
    tell(json!({ "report": event }));
    Box::pin(async {})
}

fn voice_state(guild_id: GuildId, channel_id: Option<u64>) -> Value {
    let d = json!({ "guild_id": guild_id.0.to_string(), "channel_id": channel_id.map(|id| id.to_string()) });
    json!({ "send": { "op": 4, "d": d } })
}

fn tell(line: Value) {
    let mut out = std::io::stdout().lock();
    // When the test has ended, nobody reads the output.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn read_binding() -> Result<Binding, Failure> {
    let binding: Value = serde_json::from_str(&std::env::var("CLIENT_BINDING")?)?;
    let text = |key: &str| binding[key].as_str().unwrap_or_default().to_owned();
    Ok(Binding {
        hostname: format!("{}:{}", text("host"), binding["port"]),
        password: text("password"),
        user_id: UserId(text("userId").parse()?),
        guild_id: GuildId(text("guildId").parse()?),
        channel_id: text("channelId").parse()?,
    })
}
