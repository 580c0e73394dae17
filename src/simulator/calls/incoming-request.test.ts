import { expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';
import { bodyLimit } from './incoming-request.ts';

const MB = 1_048_576;
const deployed = async () => {
  const service = simulatedService();
  for (const [name, file_size] of [
    ['big', 5 * MB],
    ['small', 10],
    ['vast', 1e12],
  ]) {
    await service.call('PUT /api/v0/deployments/', { name, file_size, image: 'x', file_hash: 'h' });
  }
  return service;
};

test.each([
  ['any call', '/api/v0/bundles/', true, MB],
  ['a whole world', '/sim/world', true, 256 * MB],
  ['a whole world that nobody may put', '/sim/world', false, MB],
  ['a file that was announced', '/uploads/1/1', true, 5 * MB + 65_536],
  ['a file that was announced, doubled slashes', '//uploads/1/1/?x=1', true, 5 * MB + 65_536],
  ['a small file', '/uploads/2/2', true, MB],
  ['a file that was announced beyond all bounds', '/uploads/3/3', true, 256 * MB],
  ['a version that is not there', '/uploads/1/9', true, MB],
  ['a deployment that is not there', '/uploads/9/1', true, MB],
] as const)('the bytes of %s are bounded before they are read', async (_, url, hasControl, bytes) => {
  const service = await deployed();
  expect(bodyLimit(service.simulator.world(), url, hasControl)).toBe(bytes);
});

test('refuses an unannounced upload without a key while it arrives', async () => {
  const service = await deployed();
  const listening = await service.simulator.listen();
  try {
    const body = Buffer.alloc(3 * MB);
    const sent = (path: string) => fetch(`${listening.url}${path}`, { method: 'POST', body });
    const replies = await Promise.all([sent('/uploads/9/9'), sent('/uploads/1/1')]);
    expect(replies.map(({ status }) => status)).toEqual([413, 200]);
  } finally {
    await listening.close();
  }
});
