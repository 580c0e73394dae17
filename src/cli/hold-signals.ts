import process from 'node:process';

/**
 * Preloaded in the container (`node --import`). The first process of a container has no default action for signals, and
 * loading the program takes time. A SIGTERM in that time would be lost, and the container would end by SIGKILL after
 * its grace period. This module holds the signal until the program listens.
 */
const held = new Set<string>();
const hold = (signal: string): unknown => held.add(signal);
const waiting = new Set<string | symbol>(['SIGINT', 'SIGTERM']);

for (const signal of waiting) process.on(signal, hold);
process.on('newListener', (event, listener) => {
  if (listener === hold || !waiting.delete(event)) return;
  const signal = String(event);
  const isHeld = held.has(signal);
  // After the new listener exists: Node stops handling a signal when its last listener is removed.
  setImmediate(() => {
    process.off(signal, hold);
    if (isHeld) process.kill(process.pid, signal);
  });
});
