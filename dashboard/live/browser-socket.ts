// Wraps the browser's WebSocket to the node in the interface that the connection uses. In the browser.

import type { LiveSocket, SocketListener } from "./live-connection.ts";

/** Opens a socket to the node that the page came from. */
export function openLiveSocket({ onOpen, onText, onClose }: SocketListener): LiveSocket {
  const address = new URL("/dashboard/live", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  const listening = new AbortController();
  const options = { signal: listening.signal };
  socket.addEventListener("open", () => onOpen(), options);
  socket.addEventListener("message", ({ data }) => onText(String(data)), options);
  socket.addEventListener("close", () => onClose(), options);
  return {
    send: (text) => socket.send(text),
    close: () => {
      listening.abort();
      socket.close();
    },
  };
}
