import { connect, type Socket } from 'node:net';

/** A client that writes its own bytes. */
export interface RawClient {
  readonly socket: Socket;
  /** Returns the received text so far. */
  read(): string;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<void>;
}

/** Resolves once connected to the port of `url` and `text` is written. */
export async function rawClient(url: string, text: string | Uint8Array): Promise<RawClient> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.write(text);
  return { socket, read: () => received, closed };
}
