import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.arbjerg.lavalink.client.LavalinkClient;
import dev.arbjerg.lavalink.client.LavalinkNode;
import dev.arbjerg.lavalink.client.Link;
import dev.arbjerg.lavalink.client.NodeOptions;
import dev.arbjerg.lavalink.client.event.PlayerUpdateEvent;
import dev.arbjerg.lavalink.client.event.ReadyEvent;
import dev.arbjerg.lavalink.client.event.TrackEndEvent;
import dev.arbjerg.lavalink.client.event.TrackStartEvent;
import dev.arbjerg.lavalink.client.player.FilterBuilder;
import dev.arbjerg.lavalink.client.player.LavalinkLoadResult;
import dev.arbjerg.lavalink.client.player.Track;
import dev.arbjerg.lavalink.client.player.TrackLoaded;
import dev.arbjerg.lavalink.protocol.v4.Band;
import dev.arbjerg.lavalink.protocol.v4.VoiceState;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Drives the official Java client as a bot without JDA would, with the lines that `process-driver.ts` describes. */
public final class JavaClient {
  private static final Duration RESUME_TIMEOUT = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode binding;
  private final long guildId;
  private final LavalinkClient client;
  private LavalinkNode node;
  private volatile String voiceSessionId = "";
  private volatile Track track;

  private JavaClient(JsonNode binding) {
    this.binding = binding;
    guildId = binding.get("guildId").asLong();
    client = new LavalinkClient(binding.get("userId").asLong());
  }

  public static void main(String[] arguments) throws IOException {
    JavaClient driver = new JavaClient(JSON.readTree(System.getenv("CLIENT_BINDING")));
    // Calls wait for answers of the node, and packets end those waits.
    ExecutorService calls = Executors.newCachedThreadPool();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String text = lines.readLine(); text != null; text = lines.readLine()) {
      JsonNode line = JSON.readTree(text);
      if (line.has("packet")) driver.receive(line.get("packet"));
      else calls.execute(() -> driver.answer(line));
    }
    System.exit(0);
  }

  private void answer(JsonNode line) {
    Map<String, Object> answer = new HashMap<>();
    answer.put("id", line.get("id").asLong());
    try {
      answer.put("value", call(line.get("call").asText(), line.path("argument")));
    } catch (RuntimeException error) {
      answer.put("error", error.toString());
    }
    tell(answer);
  }

  private Object call(String call, JsonNode argument) {
    switch (call) {
      case "connect" -> connect();
      case "session" -> {
        return node.getSessionId();
      }
      case "load" -> {
        return load(argument.asText());
      }
      case "join" -> tell(voiceState(binding.get("channelId").asText()));
      case "play" -> link().createOrUpdatePlayer().setTrack(track).block();
      case "pause" -> link().createOrUpdatePlayer().setPaused(argument.asBoolean()).block();
      case "seek" -> link().createOrUpdatePlayer().setPosition(argument.asLong()).block();
      case "volume" -> link().createOrUpdatePlayer().setVolume(argument.asInt()).block();
      case "equalizer" -> setEqualizer(argument);
      case "destroy" -> {
        link().destroy().block();
        tell(voiceState(null));
      }
      default -> throw new IllegalArgumentException("unknown call " + call);
    }
    return null;
  }

  private void connect() {
    client.on(ReadyEvent.class).subscribe(this::onReady);
    client.on(TrackStartEvent.class).subscribe((event) -> report("start"));
    client.on(TrackEndEvent.class).subscribe((event) -> report("end"));
    client.on(PlayerUpdateEvent.class).subscribe((event) -> report("update"));
    String address = "ws://" + binding.get("host").asText() + ":" + binding.get("port").asInt();
    String password = binding.get("password").asText();
    node =
        client.addNode(
            new NodeOptions.Builder().setName("node").setServerUri(address).setPassword(password).build());
  }

  private void onReady(ReadyEvent event) {
    node.enableResuming(RESUME_TIMEOUT)
        .subscribe(
            (session) -> {
              report("ready");
              if (event.getResumed()) report("resumed");
            });
  }

  private Object load(String url) {
    LavalinkLoadResult result = link().loadItem(url).block();
    if (!(result instanceof TrackLoaded loaded)) throw new IllegalStateException("not a track: " + result);
    track = loaded.getTrack();
    return Map.of("title", track.getInfo().getTitle(), "lengthMs", track.getInfo().getLength());
  }

  private void setEqualizer(JsonNode bands) {
    List<Band> equalizer = new ArrayList<>();
    for (JsonNode band : bands) equalizer.add(new Band(band.get("band").asInt(), (float) band.get("gain").asDouble()));
    link().createOrUpdatePlayer().setFilters(new FilterBuilder().setEqualizer(equalizer).build()).block();
  }

  /** Handles the packets as the client's listener for JDA does. */
  private void receive(JsonNode packet) {
    JsonNode data = packet.get("d");
    if (packet.get("t").asText().equals("VOICE_STATE_UPDATE")) {
      voiceSessionId = data.get("session_id").asText();
    } else if (data.hasNonNull("endpoint")) {
      String token = data.get("token").asText();
      link().onVoiceServerUpdate(new VoiceState(token, data.get("endpoint").asText(), voiceSessionId));
    }
  }

  private Link link() {
    return client.getOrCreateLink(guildId);
  }

  private Map<String, Object> voiceState(String channelId) {
    Map<String, Object> data = new HashMap<>();
    data.put("guild_id", Long.toString(guildId));
    data.put("channel_id", channelId);
    return Map.of("send", Map.of("op", 4, "d", data));
  }

  private static void report(String event) {
    tell(Map.of("report", event));
  }

  private static synchronized void tell(Map<String, Object> line) {
    try {
      System.out.println(JSON.writeValueAsString(line));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
