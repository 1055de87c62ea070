// What the driver uses of poru 4, whose package hides its types from modules.

declare module "poru-v4" {
  export interface Track {
    readonly info: { readonly title: string; readonly length: number };
  }

  export interface Player {
    readonly queue: { add(track: Track): void };
    readonly filters: { setEqualizer(bands: { readonly band: number; readonly gain: number }[]): void };
    play(): Promise<unknown>;
    pause(isPaused: boolean): void;
    seekTo(positionMs: number): void;
    setVolume(percent: number): void;
    disconnect(): void;
    destroy(): void;
  }

  interface Rest {
    getAllPlayers(): Promise<unknown>;
  }

  export class Poru {
    constructor(
      bot: object,
      nodes: readonly { name: string; host: string; port: number; password: string }[],
      options: { library: string },
    );
    readonly nodes: ReadonlyMap<string, { readonly sessionId: string | null; readonly rest: Rest }>;
    init(bot: object): void;
    on(event: string, listener: (from: unknown, message: unknown) => void): this;
    resolve(options: { query: string; requester: string }): Promise<{ readonly tracks: readonly Track[] }>;
    createConnection(options: {
      guildId: string;
      voiceChannel: string;
      textChannel: string;
      deaf: boolean;
      mute: boolean;
    }): Player;
    removeNode(name: string): void;
  }
}
