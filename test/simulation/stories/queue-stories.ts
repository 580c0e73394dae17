import type { JsonObject } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { raisePrice } from './acts.ts';
import { HIGHEST_PRICED_OFFER } from './market.ts';
import { answered, readyOf, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const OTHER_NAMESPACE = 'stranger';

/** Returns offers with a GPU that no host has. */
const UNKNOWN_GPU = (index: number) => [{ gpuNames: [`NOBODY ${index}`], maxPricePerHour: '2' }];

/** Returns offers with a different price per object; the first few are equal. */
const WANTS = (index: number) => [
  { gpuNames: ['RTX 4090'], maxPricePerHour: `0.${90 - Math.max(0, index - 3)}` },
];

function names(count: number, prefix = 'o'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

/** Lets another namespace use the account. */
function openTo(stage: Stage, namespace: string): void {
  stage.users.createNamespace(namespace);
  stage.users.account.set({ allowedNamespaces: { from: 'All' } });
}

function isRented(stage: Stage, name: string): boolean {
  return statusAt(stage.users.backup(name))['instanceId'] !== undefined;
}

function expectRented(stage: Stage, name: string, within: number): void {
  if (!isRented(stage, name))
    stage.invariants.report('F1', `${name} could have a machine, and has none after ${within} s`);
}

function reasonOf(stage: Stage, name: string): unknown {
  return readyOf(stage, name)?.['reason'];
}

/** Checks that waiting objects report the approximate number ahead of them, and the approximate wait. */
function expectCurrentWords(stage: Stage, all: readonly string[]): void {
  const waiting = all.filter((name) => reasonOf(stage, name) === 'Queued');
  for (const name of waiting) {
    const message = String(readyOf(stage, name)?.['message']);
    const ahead = Number(/behind (\d+)/.exec(message)?.[1] ?? 0);
    const isCurrent = ahead <= waiting.length * 1.25 + 3 && /rate limit; about \d+[sm]\.$/.test(message);
    if (!isCurrent)
      stage.invariants.report('F2', `${name} is one of ${waiting.length} that wait, and says: ${message}`);
  }
}

const OTHER_GPU = (index: number) => ({ offers: UNKNOWN_GPU(index) });
/**
 * Seconds until all have reported that nothing matches: the account is ready, five searches go at once, and the sixth, twelve
 * seconds later, answers all that wait. Later some wait for their second search.
 */
const REPORTED_WITHIN = 15;

/** Returns specs with disks in no order of size: a search only covers disks of its size or larger. */
const OTHER_DISK = (index: number) => ({ offers: UNKNOWN_GPU(0), disk: `${20 + ((index * 37) % 61)}G` });

/** Creates a crowd that requests unavailable offers, and later an object that can be satisfied. */
function crowded(
  stage: Stage,
  crowd: number,
  suffix: string,
  {
    wants = OTHER_GPU,
    within = REPORTED_WITHIN,
  }: { readonly wants?: (index: number) => JsonObject; readonly within?: number } = {},
): void {
  for (const [index, name] of names(crowd, 's').entries())
    stage.users.createInstance(`${name}${suffix}`, wants(index));
  const reported = new Set<string>();
  for (let second = 1; second <= within; second += 1)
    stage.at(second, () => {
      for (const name of names(crowd, 's'))
        if (reasonOf(stage, `${name}${suffix}`) === 'NoOffers') reported.add(name);
    });
  stage.at(within, () => {
    const unreported = names(crowd, 's').filter((name) => !reported.has(name));
    if (unreported.length > 0)
      stage.invariants.report(
        'H8',
        `${unreported.length} objects did not report within ${within} s that nothing matches`,
      );
  });
  stage.at(90, () => stage.users.createInstance('good'));
  stage.at(105, () => expectRented(stage, 'good', 15));
  stage.at(110, () => {
    for (const name of names(crowd, 's')) stage.users.delete(`${name}${suffix}`);
  });
}

/** Reply with the maximum number of rows of a search, none of which matches any object. */
const CUT_REPLY = answered({
  offers: Array.from({ length: 2_000 }, (_, index) => ({ id: index + 1, gpu_name: 'JUNK', dph_total: 1 })),
});

/** Many objects wait for the searches and rentals of one login, at the documented rate limits. */
export const QUEUE_STORIES: readonly Story[] = [
  {
    name: 'twenty objects are created at once, four with equal requirements, and all run within 150 s and say their place until then (F1, F2)',
    seconds: 150,
    plot: (stage) => {
      for (const [index, name] of names(19).entries())
        stage.users.createInstance(name, { offers: WANTS(index + 1) });
      for (const second of [46, 61, 76]) stage.at(second, () => expectCurrentWords(stage, names(19)));
    },
  },
  {
    name: 'twenty objects wait for an account, and say that they are queued when it is ready (F2)',
    seconds: 180,
    plot: (stage) => {
      stage.cast({ call: 'user', seconds: 8, fate: { refusal: { status: 503, body: '' } } });
      for (const name of names(19)) stage.users.createInstance(name);
      stage.at(75, () => {
        const stale = names(19).filter(
          (name) => !isRented(stage, name) && reasonOf(stage, name) !== 'Queued',
        );
        if (stale.length > 0)
          stage.invariants.report(
            'F2',
            `${stale.join(', ')} waits in the queue and says ${reasonOf(stage, stale[0] ?? '')}`,
          );
      });
    },
  },
  {
    name: 'two objects of another namespace come to a queue of fifteen, and have their turn before the rest (F1)',
    seconds: 200,
    plot: (stage) => {
      openTo(stage, OTHER_NAMESPACE);
      for (const [index, name] of names(15).entries())
        stage.users.createInstance(name, { offers: WANTS(index) });
      const late = names(2, 'late').map((name) => `${name}.${OTHER_NAMESPACE}`);
      stage.at(25, () => {
        for (const name of late) stage.users.createInstance(name);
      });
      stage.at(50, () => {
        for (const name of late) expectRented(stage, name, 25);
      });
    },
  },
  {
    name: 'sixty objects of another namespace want what nobody offers, each another GPU (H8)',
    seconds: 200,
    plot: (stage) => {
      openTo(stage, OTHER_NAMESPACE);
      crowded(stage, 60, `.${OTHER_NAMESPACE}`);
    },
  },
  {
    name: 'sixty objects of the same namespace want what nobody offers, each another GPU (H8)',
    seconds: 200,
    plot: (stage) => crowded(stage, 60, ''),
  },
  {
    name: 'sixty objects of the same namespace want a GPU that nobody offers, each another disk (H8)',
    seconds: 200,
    plot: (stage) => crowded(stage, 60, '', { wants: OTHER_DISK }),
  },
  {
    name: 'five hundred objects want what nobody offers, each another GPU (H8)',
    seconds: 140,
    plot: (stage) => {
      openTo(stage, OTHER_NAMESPACE);
      crowded(stage, 500, `.${OTHER_NAMESPACE}`);
    },
  },
  {
    name: 'sixty objects join a broad search on its way whose reply is cut, and are told within a minute (H8)',
    seconds: 200,
    plot: (stage) => {
      openTo(stage, OTHER_NAMESPACE);
      stage.cast({ call: 'search', seconds: 5, fate: { ...CUT_REPLY, responseMs: 2_000 } });
      stage.users.createInstance(`first.${OTHER_NAMESPACE}`, { offers: UNKNOWN_GPU(99) });
      stage.at(3, () => crowded(stage, 60, `.${OTHER_NAMESPACE}`, { within: 60 }));
      stage.at(110, () => stage.users.delete(`first.${OTHER_NAMESPACE}`));
    },
  },
  {
    name: 'an object that no offer matches searches less and less often, up to every 30 minutes (F1)',
    seconds: 7_300,
    plot: (stage) => {
      stage.users.createInstance('rare', { offers: UNKNOWN_GPU(0) });
      stage.at(3_600, () => stage.allow({ call: 'search', seconds: 3_600, max: 8, invariant: 'F1' }));
      stage.at(7_250, () => stage.users.delete('rare'));
    },
  },
  {
    name: 'an object that found no offer for 40 minutes rents within 15 s after its spec changes (F1)',
    seconds: 2_500,
    plot: (stage) => {
      stage.users.createInstance('rare', { offers: UNKNOWN_GPU(0) });
      stage.at(2_400, () => stage.users.setCeiling('rare', '0.90'));
      stage.at(2_415, () => expectRented(stage, 'rare', 15));
    },
  },
  {
    name: 'an object that found no offer for 20 minutes rents within 30 minutes after an offer becomes cheaper (F1)',
    seconds: 3_600,
    plot: (stage) => {
      stage.users.createInstance('frugal', { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.05' }] });
      stage.at(1_200, () => raisePrice(stage, HIGHEST_PRICED_OFFER, 10_000));
      stage.at(3_200, () => expectRented(stage, 'frugal', 2_000));
    },
  },
  {
    name: 'the account of a queue of thirty objects loses its login, and an object of another account of the login rents within 15 s (F1)',
    seconds: 450,
    plot: (stage) => {
      stage.users.second.create('Report', stage.world.addKey());
      const queued = names(30, 'queued');
      stage.at(20, () => {
        for (const [index, name] of queued.entries())
          stage.users.createInstance(name, { isOfSecond: true, offers: WANTS(index) });
      });
      stage.at(40, () => stage.users.second.spoilKey({ 'api-key': stage.world.addLogin() }));
      stage.at(110, () => stage.users.createInstance('late'));
      stage.at(125, () => expectRented(stage, 'late', 15));
      stage.at(130, () => {
        stage.users.second.bringKeyBack();
        for (const name of queued) stage.users.delete(name);
      });
    },
  },
];
