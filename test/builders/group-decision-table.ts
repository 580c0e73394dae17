import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decide } from '../../src/controllers/endpoint-group/decide.ts';
import type { Action, Decision, Observed } from '../../src/controllers/endpoint-group/types.ts';
import { goldenText } from './golden-text.ts';
import { NOW, observedGroup } from './observed-group.ts';

/** A situation of a group in one sentence, what of it is not usual, and the acts that it leads to. */
export type GroupRow = readonly [sentence: string, situation: Partial<Observed>, acts: readonly string[]];

/**
 * Tables of what groups decide. A row states what is done; conditions, figures and events stand in
 * `test/golden/decisions`, so that no word or number of them changes unseen.
 */
export function groupDecisionTables(name: string) {
  const golden = goldenText(join(import.meta.dirname, '..', 'golden', 'decisions', `${name}.txt`));
  const sentences: string[] = [];
  return {
    table(rows: readonly GroupRow[]): void {
      sentences.push(...rows.map(([sentence]) => sentence));
      test.each(rows)('%s', (sentence, situation, acts) => {
        const decision = decide(observedGroup(situation));
        expect(decision.actions.map(inWords)).toEqual(acts);
        golden.expect(sentence, whole(decision));
      });
    },
    /** Call it last in the file. */
    close(): void {
      test('the golden text tells these situations and no others', () => golden.expectNoOther(sentences));
    },
  };
}

function inWords(action: Action): string {
  switch (action.type) {
    case 'create':
      return `create ${action.wanted} ${action.ordinal}`;
    case 'order': {
      const { wanted, powerState } = action.order;
      return `order ${action.worker.name} ${wanted} ${powerState}`;
    }
    case 'delete':
    case 'blame':
      return `${action.type} ${action.worker.name}`;
    case 'adopt':
      return `adopt ${action.object.metadata.name}`;
    case 'release':
      return 'release';
  }
}

function whole({ status, endpoints, events, memory, ...decision }: Decision): string {
  const { conditions = [], phase, autoscaling, ...figures } = status;
  return [
    `phase ${phase}; looks in ${decision.requeueAfterMs} ms, ticks in ${memory.nextTickAt - NOW} ms`,
    ...conditions.map(({ type, status: is, reason, message }) => `${type} ${is} ${reason}: ${message}`),
    `figures ${told(figures)}`,
    `terms ${told(autoscaling ?? {})}`,
    `remembers panic until ${memory.scaling.panicUntil}, slow since ${memory.slowSince}; finalizer ${decision.needsFinalizer}`,
    ...(endpoints ?? []).map(
      ({ worker, address, addressType, ports }) =>
        `leads to ${worker.metadata.name}: ${addressType} ${address} ${JSON.stringify(ports)}`,
    ),
    ...events.map((event) => `event ${event.type} ${event.reason} (${event.action}): ${event.note}`),
  ].join('\n');
}

function told(figures: object): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ');
}
