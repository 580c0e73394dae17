import { expect, test } from 'vitest';
import { type JsonObject, objectAt } from '../memory-kube/json.ts';
import { NAMESPACE } from '../world.ts';
import { play } from './play.ts';
import type { Stage } from './stage.ts';

/* Whole operator, one account, objects `a` and `b`: each machine costs $0.30 to $0.32 per hour. */

const address = ({ world }: Stage, plural: string, name: string) => ({
  ...{ kind: world.kube.kind(plural), namespace: NAMESPACE, name },
});

function createBudget(stage: Stage, spec: JsonObject): void {
  stage.world.kube.writes.create(address(stage, 'spendbudgets', 'team'), {
    ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'SpendBudget' },
    metadata: { name: 'team', namespace: NAMESPACE },
    spec: { action: 'Block', onExceeded: 'Continue', ...spec },
  });
}

function editBudget(stage: Stage, spec: JsonObject): void {
  const change = (current: JsonObject) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } });
  stage.world.kube.writes.update(address(stage, 'spendbudgets', 'team'), change, undefined);
}

const read = (stage: Stage, plural: string, name: string) =>
  stage.world.kube.writes.read(address(stage, plural, name)) as {
    readonly status?: {
      readonly phase?: string;
      readonly conditions?: readonly { readonly type: string; readonly reason: string }[];
    };
  };

/** Returns phase and reason of an object. */
function shown(stage: Stage, name: string): string {
  const { status } = read(stage, 'gpuinstances', name);
  return `${status?.phase} ${status?.conditions?.find(({ type }) => type === 'Ready')?.reason}`;
}

test('a second machine waits for the budget of an hour, and is rented within seconds after it is raised', async () => {
  const seen: Record<string, readonly string[]> = {};
  const see = (stage: Stage, at: number) =>
    stage.at(at, () => {
      seen[at] = ['a', 'b'].map((name) => shown(stage, name)).sort();
    });
  const { violations } = await play({
    ...{ name: 'a budget of an hour', seconds: 200, mayLeave: true },
    plot(stage) {
      createBudget(stage, { perHour: '0.45' });
      stage.users.createInstance('b');
      see(stage, 119);
      stage.at(120, () => editBudget(stage, { perHour: '5' }));
      see(stage, 190);
    },
  });
  expect(violations).toEqual([]);
  expect(seen).toEqual({
    119: ['Pending BudgetReached', 'Running Ready'],
    190: ['Running Ready', 'Running Ready'],
  });
});

test('a process whose clock is an hour ahead stops no machine for a month that is not spent', async () => {
  const { violations } = await play({
    ...{ name: 'a budget of a month, and a wrong clock', seconds: 400 },
    plot(stage) {
      createBudget(stage, { perMonth: '5', onExceeded: 'Stop' });
      // One hour of the machine costs more.
      stage.at(100, () => editBudget(stage, { perMonth: '0.30' }));
      stage.at(150, () => {
        stage.world.bornAheadMs = 3_600_000;
        stage.killAll();
      });
    },
  });
  expect(violations).toEqual([]);
});

test('machines stop when the month is spent, and start again after the budget is raised', async () => {
  const seen: Record<string, string> = {};
  const see = (stage: Stage, at: number) => stage.at(at, () => (seen[at] = shown(stage, 'a')));
  let exceeded = false;
  const { violations } = await play({
    ...{ name: 'a budget of a month', seconds: 900, mayLeave: true },
    plot(stage) {
      // One hour of the machine must fit before it is rented.
      createBudget(stage, { perMonth: '5', onExceeded: 'Stop' });
      see(stage, 120);
      stage.at(121, () => editBudget(stage, { perMonth: '0.01' }));
      stage.at(399, () => {
        const { status } = read(stage, 'spendbudgets', 'team');
        exceeded = status?.conditions?.some(({ type }) => type === 'Exceeded') === true;
      });
      see(stage, 400);
      stage.at(401, () => editBudget(stage, { perMonth: '5' }));
      see(stage, 890);
    },
  });
  expect(violations).toEqual([]);
  expect([seen, exceeded]).toEqual([
    { 120: 'Running Ready', 400: 'Stopped BudgetReached', 890: 'Running Ready' },
    true,
  ]);
});
