import { type JsonObject, objectAt, textAt } from '../memory-kube/json.ts';
import { aDollarBelowCredit, payIn } from './acts.ts';
import { namesOf } from './outage-acts.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Returns the Events of an object with that reason. */
function eventsOf({ world: { kube } }: Stage, name: string, reason: string): readonly JsonObject[] {
  const events = kube.store.all(kube.kind('events'));
  return events.filter(
    (event) => textAt(objectAt(event, 'regarding'), 'name') === name && event['reason'] === reason,
  );
}

/** Checks that an object has exactly one Event with that reason at that second, and that its note matches. */
function reportedOnce(stage: Stage, second: number, [name, reason]: readonly [string, string], note: RegExp) {
  stage.at(second, () => {
    const notes = eventsOf(stage, name, reason).map((event) => String(event['note']));
    if (notes.length === 1 && note.test(notes[0] ?? '')) return;
    stage.invariants.report('Service', `${name} has ${notes.length} events ${reason}: ${notes.join('; ')}`);
  });
}

const FAILING = answered({ msg: 'Bad Gateway' }, 502);

/** Answers every call with HTTP 502 for the given seconds. */
function failing(stage: Stage, second: number, seconds: number): void {
  stage.at(second, () => {
    for (const call of ['list', 'read', 'user', 'search', 'rent'] as const)
      stage.cast({ call, seconds, fate: FAILING });
  });
}

/** Forbids calls that spend money while the account is suspended and a process knows it. */
function nothingSpent(stage: Stage, second: number, seconds: number): void {
  stage.at(second, () => {
    for (const call of ['rent', 'label', 'destroy'] as const)
      stage.forbid({ call, seconds, why: 'the account is suspended' });
  });
}

/** Services that are lost and come back, and accounts that people suspend. */
export const SERVICE_STORIES: readonly Story[] = [
  {
    name: 'the marketplace fails for 100 s while an object waits for a machine: one event at its start and one at its end (P3)',
    seconds: 400,
    plot: (stage) => {
      failing(stage, 100, 100);
      stage.at(110, () => stage.users.createInstance('b'));
      for (const name of ['default', 'b']) {
        reportedOnce(stage, 190, [name, 'Unreachable'], /HTTP 502/);
        reportedOnce(stage, 380, [name, 'ServiceRestored'], /restored after [\dms]+\. Cause: .*HTTP 502/);
      }
    },
  },
  {
    name: 'the operator restarts while the marketplace fails for 200 s, and reports the outage once (P3)',
    seconds: 500,
    plot: (stage) => {
      failing(stage, 100, 200);
      stage.at(160, () => stage.killAll());
      reportedOnce(stage, 290, ['default', 'Unreachable'], /HTTP 502/);
      reportedOnce(stage, 480, ['default', 'ServiceRestored'], /restored after [34]m/);
    },
  },
  {
    name: 'the credit of an account is used up, its machines stop, and a person pays in (P4)',
    fleet: 3,
    seconds: 700,
    plot: (stage) => {
      stage.at(200, () => stage.cause({ name: 'credit-out' }));
      for (const name of namesOf(3)) {
        reportedOnce(stage, 290, [name, 'StoppedByMarketplace'], /not on request/);
        reportedOnce(stage, 290, [name, 'InsufficientCredit'], /credit must remain/);
      }
      stage.at(300, () => payIn(stage.world));
    },
  },
  {
    name: 'the credit comes within a day of what must remain, the marketplace fails, the operator restarts, and a person lowers the limit: one event at its start and one at its end',
    seconds: 700,
    plot: (stage) => {
      stage.at(100, () =>
        stage.users.account.set({ limits: { minCredit: aDollarBelowCredit(stage.world) } }),
      );
      reportedOnce(stage, 230, ['default', 'CreditLow'], /limits\.minCredit of \$.* Add credit/);
      failing(stage, 240, 100);
      stage.at(290, () => stage.killAll());
      stage.at(480, () => {
        const ends = eventsOf(stage, 'default', 'CreditSufficient').length;
        if (ends > 0) stage.invariants.report('Service', `${ends} events CreditSufficient after an outage`);
      });
      reportedOnce(stage, 490, ['default', 'CreditLow'], /Add credit/);
      stage.at(500, () => stage.users.account.set({ limits: {} }));
      reportedOnce(stage, 690, ['default', 'CreditSufficient'], /longer than a day/);
    },
  },
  {
    name: 'one reply names a credit of zero: no event and no condition CreditLow',
    seconds: 300,
    plot: (stage) => {
      stage.at(100, () =>
        stage.wrong({ endpoint: 'GET /api/v0/users/current/', field: 'credit', change: 'set', value: 0 }),
      );
      stage.at(290, () => {
        const events = eventsOf(stage, 'default', 'CreditLow').length;
        if (events > 0)
          stage.invariants.report('Service', `${events} events CreditLow after one wrong reply`);
      });
    },
  },
  {
    name: 'an account is suspended before its second object is created and while a machine ends, and resumes (P5)',
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => stage.users.account.suspend());
      nothingSpent(stage, 105, 190);
      stage.at(140, () => stage.users.createInstance('b'));
      stage.at(150, () => stage.befall({ name: 'exited', instance: stage.machineOf('a'), seconds: 1_000 }));
      stage.at(300, () => stage.users.account.resume());
    },
  },
  {
    name: 'an account is suspended while a machine of it is stopped that its user starts, and resumes (P5)',
    seconds: 500,
    plot: (stage) => {
      stage.at(90, () => stage.users.setPowerState('a', 'Stopped'));
      stage.at(180, () => stage.users.account.suspend());
      stage.at(220, () => stage.users.setPowerState('a', 'Running'));
      nothingSpent(stage, 185, 110);
      stage.at(300, () => stage.users.account.resume());
    },
  },
  {
    name: 'an account is suspended whose group needs more workers, and the operator restarts (P5)',
    seconds: 600,
    group: { load: 100 },
    plot: (stage) => {
      stage.at(100, () => stage.users.account.suspend());
      stage.at(150, () => stage.users.groups.setLoad('group', 300));
      stage.at(200, () => stage.killAll());
      nothingSpent(stage, 105, 190);
      stage.at(300, () => stage.users.account.resume());
    },
  },
];
