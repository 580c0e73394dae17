import { describe, expect, test } from 'vitest';
import { given, withMachine } from '../../../../test/builders/observed.ts';
import type { MachineRow } from '../../../market/machine.ts';
import { decide } from '../decide.ts';
import { reachable } from './machine-finding.ts';

const ports = [{ containerPort: 8080 }, { containerPort: 53, protocol: 'UDP' as const }];
const says = (row: Partial<MachineRow>) => reachable(given(withMachine(row, { spec: { ports } })));

describe('a running machine with declared ports (S8, D-op1)', () => {
  test('is not reachable when it maps none of them, and the condition names them', () => {
    expect(says({ ports: {} })).toMatchObject({
      status: 'False',
      reason: 'NotReachable',
      message: expect.stringContaining('8080/tcp, 53/udp'),
    });
  });

  test('scenario 108: is not reachable when it maps one of two', () => {
    const { message, reason } = says({ ports: { '8080/tcp': 20_001 } });
    expect(reason).toBe('NotReachable');
    expect(message).not.toContain('8080/tcp');
  });

  test('says once what to do when it maps none of them', () => {
    const step = decide(given(withMachine({ ports: {} }, { spec: { ports } })));
    const message = step.type === 'decision' ? step.status?.verdict.Ready.message : undefined;
    expect(message?.split('set the annotation gpurental.dev/replace-at')).toHaveLength(2);
  });

  test('is reachable when it maps both', () => {
    expect(says({ ports: { '8080/tcp': 20_001, '53/udp': 20_002 } }).reason).toBe('Ready');
  });

  test('is not judged when the service returns no address', () => {
    expect(says({ ports: {}, publicAddress: undefined }).reason).toBe('Ready');
  });
});
