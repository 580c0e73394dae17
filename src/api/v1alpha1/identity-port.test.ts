import { describe, expect, test } from 'vitest';
import { mappingOf } from './identity-port.ts';
import { servingPortName } from './serving-port.ts';

const tcp = (containerPort: number, publicPort = containerPort) => ({
  ...{ containerPort, publicPort },
  protocol: 'TCP' as const,
});
const web = tcp(8080);
const p2p = tcp(70_000);

describe('an identity port (B15)', () => {
  test('has the mapping with one number inside and outside', () => {
    const mapped = [tcp(8080, 40_000), tcp(41_234)];
    expect(mappingOf(p2p, [web, p2p], mapped)).toEqual(tcp(41_234));
    expect(mappingOf(web, [web, p2p], mapped)).toEqual(tcp(8080, 40_000));
  });

  test('has no mapping when one number belongs to another declared port', () => {
    expect(mappingOf(p2p, [web, p2p], [web])).toBeUndefined();
  });

  test('has no mapping when several fit, or when the protocol differs', () => {
    expect(mappingOf(p2p, [p2p], [tcp(41_234), tcp(41_235)])).toBeUndefined();
    expect(mappingOf({ ...p2p, protocol: 'UDP' }, [p2p], [tcp(41_234)])).toBeUndefined();
  });

  test('is never the port through which a gateway reaches a worker', () => {
    const ports = [{ ...p2p, name: 'p2p' }, web];
    expect(servingPortName({ spec: { template: { spec: { ports } } } })).toBe('tcp-8080');
    expect(servingPortName({ spec: { gateway: { port: 'p2p' }, template: { spec: { ports } } } })).toBe(
      undefined,
    );
  });
});
