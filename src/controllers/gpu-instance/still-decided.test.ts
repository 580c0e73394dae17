import { expect, test } from 'vitest';
import { HOLD, OPEN_BREAKER, OUTDATED } from '../../../test/builders/ending-machine.ts';
import {
  at,
  type Given,
  given,
  holding,
  machineOf,
  time,
  withMachine,
} from '../../../test/builders/observed.ts';
import { decide, stillDecides } from './decide.ts';
import type { Action } from './types.ts';

const offline: Given = withMachine(
  { state: 'offline' },
  { status: { actualStatus: 'offline', actualStatusSince: time(-61) } },
);
const before = given(offline);

function actionOf(situation: Given): Action {
  const step = decide(given(situation));
  const [action] = step.type === 'decision' ? step.actions : [];
  if (!action) throw new Error('nothing is done');
  return action;
}

const destroy = actionOf(offline);
const replacing = { actualStatus: 'offline', actualStatusSince: time(-61) };

test('a queued destroy leaves if the newest list still shows the machine lost (H1)', () => {
  expect(stillDecides(given(offline), { before, action: destroy })).toBe(true);
});

test.each<readonly [string, Given]>([
  ['the machine runs again', withMachine({}, { status: replacing })],
  [
    'the breaker is open',
    {
      ...offline,
      facts: { breaker: OPEN_BREAKER },
    },
  ],
  ['the object records another machine', { ...offline, status: holding({ instanceId: '9' }) }],
  ['its end is held back', { ...offline, annotations: HOLD }],
])('a queued destroy is taken back if %s (H1)', (_, newest) => {
  expect(stillDecides(given(newest), { before, action: destroy })).toBe(false);
});

const outdated = withMachine({}, { status: OUTDATED });

test.each<readonly [string, boolean, Given]>([
  ['leaves if its offer was seen within the minute', true, {}],
  [
    'is taken back if it waited too long after its offer was seen',
    false,
    { observed: { steadyNow: at(41) } },
  ],
  ['is taken back if a person reverted the edit', false, { status: {} }],
])('a queued destroy for another spec %s (P1)', (_, expected, change) => {
  const action = actionOf(outdated);
  expect(
    stillDecides(given({ ...outdated, ...change, ...(change.status && withMachine()) }), {
      before: given(outdated),
      action,
    }),
  ).toBe(expected);
});

test.each([
  ['lists have shown it', {}],
  ['no list has shown it yet', { rentedAt: undefined }],
  [
    'nothing says since when it is rented',
    { rentedAt: undefined, firstRentedAt: undefined, cost: undefined },
  ],
])('a kept machine gets the same label a moment later if %s (I7)', (_, status) => {
  const leaving: Given = {
    ...withMachine({}, { spec: { deletionPolicy: 'Retain' }, status }),
    deleting: true,
  };
  const later = given(leaving);
  const seen = { ...later, now: later.clock.now + 1_000, steadyNow: later.clock.steadyNow + 1_000 };
  expect(stillDecides(seen, { before: given(leaving), action: actionOf(leaving) })).toBe(true);
});

test('takes single reads from the pass that decided', () => {
  const seen = given({ ...offline, observed: { confirmed: undefined } });
  expect(stillDecides(seen, { before, action: destroy })).toBe(true);
  const unread = given({ ...offline, observed: { confirmed: undefined } });
  expect(stillDecides(seen, { before: unread, action: destroy })).toBe(false);
});

test('waits for nothing that has failed since', () => {
  const seen = given({ ...offline, memory: { destroyFailures: 1, destroyNotBefore: at(60) } });
  expect(stillDecides(seen, { before, action: destroy })).toBe(true);
});

test('a queued destroy of another machine is another action', () => {
  expect(stillDecides(given(offline), { before, action: { ...destroy, instanceId: '2' } as Action })).toBe(
    false,
  );
});

test('a queued start leaves also if the price has moved', () => {
  const stopped = withMachine({ state: 'stopped' });
  const start = actionOf(stopped);
  expect(start.type).toBe('start');
  const dearer = { ...stopped, machines: [machineOf(1, { state: 'stopped', pricePerHour: 777_000 })] };
  expect(stillDecides(given(dearer), { before: given(stopped), action: start })).toBe(true);
  expect(stillDecides(given(withMachine()), { before: given(stopped), action: start })).toBe(false);
});

test('a queued relabel is another action if its label is another', () => {
  const adopted = withMachine({ label: null }, { spec: { adopt: { instanceId: '1' } } });
  const relabel = actionOf(adopted);
  expect(relabel.type).toBe('relabel');
  const known = { before: given(adopted), action: relabel };
  expect(stillDecides(given(adopted), known)).toBe(true);
  expect(stillDecides(given(adopted), { ...known, action: { ...relabel, label: 'another' } as Action })).toBe(
    false,
  );
});

test('a queued destroy is not a stop of the same machine', () => {
  const stop = { type: 'stop', instanceId: '1' } as Action;
  expect(stillDecides(given(offline), { before, action: stop })).toBe(false);
});

test('a queued retain leaves while the object is being deleted, with the same label only', () => {
  const retaining: Given = { ...withMachine({}, { spec: { deletionPolicy: 'Retain' } }), deleting: true };
  const retain = actionOf(retaining);
  expect(retain.type).toBe('retain');
  const known = { before: given(retaining), action: retain };
  expect(stillDecides(given(retaining), known)).toBe(true);
  expect(
    stillDecides(given(retaining), { ...known, action: { ...retain, label: 'another' } as Action }),
  ).toBe(false);
  expect(stillDecides(given({ ...retaining, deleting: false }), known)).toBe(false);
});
