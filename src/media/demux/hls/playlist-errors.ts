// Error messages for HLS playlists that cannot be played. Audio thread.

import { NodeError } from "../../../errors.ts";

export function invalidPlaylist(reason: string): NodeError {
  return new NodeError("hls-playlist-invalid", `reading an HLS playlist: ${reason}`);
}
