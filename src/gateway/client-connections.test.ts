import { expect, test } from 'vitest';
import { ClientConnections, type Connection } from './client-connections.ts';

const from = (place: string, start = '1'): Connection => ({ place, start });

/** Returns how many of `count` connections a client gets. */
function opened(connections: ClientConnections, client: string, count: number): number {
  const all = Array.from({ length: count }, (_, port) => connections.open(from(`${client}:${port}`), client));
  return all.filter((isOpen) => isOpen).length;
}

test('gives one client half of all connections, and a later one half of the rest', () => {
  const connections = new ClientConnections(100);
  expect(opened(connections, 'a', 1000)).toBe(50);
  expect(opened(connections, 'b', 1000)).toBe(25);
  expect(opened(connections, 'c', 3)).toBe(3);
});

test('gives every client the same in the end when connections come and go', () => {
  const connections = new ClientConnections(90);
  opened(connections, 'a', 1000);
  opened(connections, 'b', 1000);
  for (let round = 0; round < 100; round += 1) {
    connections.close(from(`a:${round}`));
    for (const client of ['b', 'a']) connections.open(from(`${client}:new-${round}`), client);
  }
  expect(Math.abs(connections.of('a') - connections.of('b'))).toBeLessThanOrEqual(1);
  expect(connections.of('a')).toBe(30);
});

test('counts a connection once, and ignores the end of one that it does not know', () => {
  const connections = new ClientConnections(4);
  expect(connections.open(from('a:1'), 'a')).toBe(true);
  expect(connections.open(from('a:1'), 'a')).toBe(true);
  expect(connections.of('a')).toBe(1);
  connections.close(from('a:2'));
  connections.close(from('a:1'));
  connections.close(from('a:1'));
  expect(connections.of('a')).toBe(0);
});

test('ignores the end of an earlier connection of the same port', () => {
  const connections = new ClientConnections(4);
  connections.open(from('a:1', '1'), 'a');
  connections.open(from('a:1', '2'), 'a');
  connections.close(from('a:1', '1'));
  expect(connections.of('a')).toBe(1);
  connections.close(from('a:1', '2'));
  expect(connections.of('a')).toBe(0);
});

test('counts none after all are gone', () => {
  const connections = new ClientConnections(4);
  opened(connections, 'a', 4);
  connections.clear();
  expect(opened(connections, 'a', 4)).toBe(2);
});
