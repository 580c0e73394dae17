import { describe, expect, test } from 'vitest';
import { row, spec } from '../../test/builders/observed.ts';
import { mappedPorts, unmappedPorts } from './machine-ports.ts';

const declaring = spec({
  ports: [
    { name: 'web', containerPort: 8080 },
    { name: 'p2p', containerPort: 70_000 },
    { name: 'voice', containerPort: 70_001, protocol: 'UDP' },
  ],
});

describe('identity ports of a machine (B15)', () => {
  const machine = row({ ports: { '41234/tcp': 41_234, '8080/tcp': 40_000 } });

  test('get the name of the spec when the marketplace mapped them', () => {
    expect(mappedPorts(machine, declaring)).toEqual([
      { name: 'web', containerPort: 8080, protocol: 'TCP', publicPort: 40_000 },
      { name: 'p2p', containerPort: 41_234, protocol: 'TCP', publicPort: 41_234 },
    ]);
  });

  test('count as unmapped, with the declared number, when the marketplace did not map them', () => {
    expect(unmappedPorts(machine, declaring)).toEqual(['70001/udp']);
    expect(unmappedPorts(row({ ports: {} }), declaring)).toEqual(['8080/tcp', '70000/tcp', '70001/udp']);
  });
});
