import { type JsonObject, objectAt, objectsAt } from '../memory-kube/json.ts';
import { endInConsole, labelOf, machineOn, repriceMachine } from './acts.ts';
import type { Stage, WrongField } from './stage.ts';
import type { Story } from './story.ts';

const USER = 'GET /api/v0/users/current';
const MONTH_SECONDS = 30 * 86_400;
/** An id that no contract of a story has. */
const ABSENT_MACHINE = 60_000_024;
/** Machines run, and lists follow one another every ten seconds. */
const AT_WORK = 150;
/** An offer that no object rents. */
const BY_HAND_OFFER = 8_000_022;
/** No machine of the others comes near them in the time of a story. */
const BUDGET: JsonObject = { maxTotalCost: '10', maxLifetime: '12h' };

const names = (fleet: number): readonly string[] =>
  Array.from({ length: fleet }, (_, index) => (index === 0 ? 'a' : `m-${index + 1}`));

function giveAll(stage: Stage, fleet: number, policies: JsonObject): void {
  for (const name of names(fleet)) stage.users.setPolicies(name, policies);
}

/** Returns a story of a working fleet about which replies are wrong from then on. */
function misread(
  name: string,
  { fleet = 1, policies = BUDGET }: { readonly fleet?: number; readonly policies?: JsonObject },
  wrong: (stage: Stage) => readonly WrongField[],
): Story {
  return {
    ...{ name, fleet, seconds: 420 },
    plot: (stage) => {
      giveAll(stage, fleet, policies);
      stage.at(AT_WORK, () => {
        for (const fault of wrong(stage)) stage.wrong(fault);
      });
    },
  };
}

const inLists = (wrong: Omit<WrongField, 'endpoint'>): WrongField => ({ endpoint: 'list', ...wrong });
const inReads = (wrong: Omit<WrongField, 'endpoint'>): WrongField => ({ endpoint: 'get', ...wrong });

/** Prices and dates that one list, or three of them, have wrong: the next one, or a read, says so. */
const MONEY_STORIES: readonly Story[] = [
  misread(
    'one list says that each of ten machines with a budget costs a million times as much (A1)',
    { fleet: 10 },
    () => [inLists({ field: 'dph_total', change: 'times', value: 1e6 })],
  ),
  misread(
    'three lists say that a machine with a budget costs a million times as much, and reads say the truth (A1)',
    {},
    () => [inLists({ field: 'dph_total', change: 'times', value: 1e6, count: 3 })],
  ),
  misread(
    'three lists say that a machine costs twice as much, and one read names a price that nothing else does (A1)',
    {},
    () => [
      inLists({ field: 'dph_total', change: 'times', value: 2, count: 4 }),
      inReads({ field: 'dph_total', change: 'times', value: 1e6 }),
    ],
  ),
  misread('one list says that the disk of a machine costs more than its budget (A1)', {}, () => [
    inLists({ field: 'storage_total_cost', change: 'times', value: 1e6 }),
  ]),
  misread('one list says that each of four machines began a month ago (A1)', { fleet: 4 }, () => [
    inLists({ field: 'start_date', change: 'plus', value: -MONTH_SECONDS }),
  ]),
  misread('three lists say that a machine began a month ago, and reads say the truth (A1)', {}, () => [
    inLists({ field: 'start_date', change: 'plus', value: -MONTH_SECONDS, count: 3 }),
  ]),
  misread(
    'one list says that a machine costs four times as much, and its object replaces machines above its maximum (A2)',
    { policies: { onPriceAbove: 'Replace' } },
    () => [inLists({ field: 'dph_total', change: 'times', value: 4 })],
  ),
  misread(
    'three lists say that a machine costs four times as much, reads say the truth, and its object replaces such machines (A2)',
    { policies: { onPriceAbove: 'Replace' } },
    () => [inLists({ field: 'dph_total', change: 'times', value: 4, count: 3 })],
  ),
  {
    name: 'twenty lists, and every read meanwhile, say that a machine costs nothing, and later the truth (A1)',
    seconds: 600,
    plot: (stage) => {
      giveAll(stage, 1, BUDGET);
      stage.at(AT_WORK, () => {
        const free = { field: 'dph_total', change: 'set', value: 0 } as const;
        stage.wrong(inLists({ ...free, count: 20 }));
        stage.cause({ name: 'wrong-field', seconds: 250, ...inReads(free) });
      });
    },
  },
  {
    name: 'one list says that a machine costs a million times as much, and its account may spend $50 a month (A4)',
    seconds: 600,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerMonth: '50' } });
      stage.at(AT_WORK, () => stage.wrong(inLists({ field: 'dph_total', change: 'times', value: 1e6 })));
      stage.at(AT_WORK + 60, () => stage.users.createInstance('b'));
    },
  },
  {
    name: 'one list says that a machine costs a million times as much, its object is deleted, and the account may spend $50 a month (A4)',
    seconds: 600,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerMonth: '50' } });
      stage.at(AT_WORK, () => stage.wrong(inLists({ field: 'dph_total', change: 'times', value: 1e6 })));
      stage.at(AT_WORK + 12, () => stage.users.delete('a'));
      stage.at(AT_WORK + 90, () => stage.users.createInstance('b'));
    },
  },
];

/** Reads that no one answers: what lists have shown for long counts from when they began to. */
const UNREAD_STORIES: readonly Story[] = [
  {
    name: 'the price of a machine rises, and no read is answered for half an hour (A4)',
    seconds: 2_400,
    plot: (stage) => {
      stage.at(AT_WORK, () => {
        stage.cast({ call: 'read', seconds: 1_800, fate: { refusal: { status: 503, body: '' } } });
        repriceMachine(stage, 'a', 600_000);
      });
    },
  },
  {
    name: 'a machine is ended in the console, and no read is answered for half an hour: it bills until the first list without it',
    seconds: 2_400,
    plot: (stage) => {
      stage.at(AT_WORK, () => {
        stage.cast({ call: 'read', seconds: 1_800, fate: { refusal: { status: 503, body: '' } } });
        endInConsole(stage, stage.machineOf('a'));
      });
      stage.at(2_390, () => {
        const [ended] = objectsAt(objectAt(stage.users.backup('a'), 'status'), 'history');
        const seconds = (Date.parse(String(ended?.['endedAt'])) - stage.world.now) / 1000 + 2_390 - AT_WORK;
        if (!(seconds < 60))
          stage.invariants.report('I9', `the machine bills for ${seconds} s after its end`);
      });
    },
  },
];

/** Stories in which one search reply has prices far below those of every list. */
const OFFER_STORIES: readonly Story[] = [
  {
    name: 'one search reply says that offers cost a hundredth, and another rental waits for the limit of the account (A1)',
    seconds: 420,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerHour: '0.5' } });
      stage.wrong({ endpoint: 'search', field: 'dph_total', change: 'times', value: 0.01 });
      stage.at(150, () => {
        stage.users.createInstance('b');
        stage.forbid({
          call: 'rent',
          seconds: 260,
          why: 'both machines would cost more than the account may spend',
        });
      });
    },
  },
];

/** The first list that shows a machine at work has something wrong of it, and lists are a minute apart. */
const FIRST_LIST_STORIES: readonly Story[] = [
  {
    name: 'the first list says that a machine costs a hundredth of its offer, and another rental waits for the limit of the account (A1)',
    seconds: 420,
    mayLeave: true,
    plot: (stage) => {
      stage.users.account.set({ limits: { maxSpendPerHour: '0.5' }, pollInterval: '1m' });
      stage.at(30, () => {
        stage.wrong(inLists({ field: 'dph_total', change: 'times', value: 0.01 }));
        stage.users.createInstance('b');
        stage.forbid({
          call: 'rent',
          seconds: 380,
          why: 'both machines would cost more than the account may spend',
        });
      });
    },
  },
  {
    name: 'the first list says that the disk of a machine costs a million times as much, and the machine is stopped (A1)',
    seconds: 420,
    mayLeave: true,
    plot: (stage) => {
      stage.users.setPolicies('a', BUDGET);
      stage.users.account.set({ pollInterval: '1m' });
      stage.at(30, () => stage.wrong(inLists({ field: 'storage_total_cost', change: 'times', value: 1e6 })));
      stage.at(70, () => {
        stage.forbid({ call: 'destroy', seconds: 340, why: 'the machine costs less than its budget' });
        stage.users.setPowerState('a', 'Stopped');
      });
    },
  },
];

/** Labels, ids and owners. */
const CLAIM_STORIES: readonly Story[] = [
  misread('one list shows the label of one object on the machine of another (A3)', { fleet: 2 }, (stage) => [
    inLists({ field: 'label', change: 'set', value: labelOf(stage, 'a'), instance: stage.machineOf('m-2') }),
  ]),
  misread(
    'three lists show the label of one object on the machine of another, and reads say the truth (A3)',
    { fleet: 2 },
    (stage) => [
      inLists({
        ...{ field: 'label', change: 'set', value: labelOf(stage, 'a'), count: 3 },
        instance: stage.machineOf('m-2'),
      }),
    ],
  ),
  {
    name: 'three lists show the label of an object on a machine of a person, and no read is answered (A3)',
    seconds: 420,
    plot: (stage) => {
      stage.at(20, () => void stage.users.console.rent(BY_HAND_OFFER, 'mine'));
      stage.at(AT_WORK, () => {
        stage.wrong(
          inLists({
            ...{ field: 'label', change: 'set', value: labelOf(stage, 'a'), count: 3 },
            instance: machineOn(stage, BY_HAND_OFFER),
          }),
        );
        stage.cast({ call: 'read', seconds: 60, fate: { refusal: { status: 503, body: '' } } });
      });
    },
  },
  {
    name: 'a person writes the label of one object onto the machine of another, whose claim stands (A3)',
    fleet: 2,
    seconds: 420,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        const [from, onto] = [labelOf(stage, 'a'), stage.machineOf('m-2')];
        void stage.users.console.label(onto, from);
      }),
  },
  {
    name: 'the reply to a rent call names the machine of another object, which is deleted later (A8)',
    seconds: 700,
    plot: (stage) => {
      stage.at(AT_WORK, () => {
        stage.wrong({ endpoint: 'rent', field: 'new_contract', change: 'other-row' });
        stage.users.createInstance('b');
      });
      stage.at(450, () => stage.users.delete('b'));
    },
  },
  ...(['keeps', 'is deleted'] as const).map(
    (fate): Story => ({
      name: `a rent reply names a machine of a person that no list shows yet, and its object ${fate === 'keeps' ? 'stays' : fate} (A8)`,
      seconds: 700,
      plot: (stage) => {
        stage.at(AT_WORK, () => {
          stage.cause({ name: 'lagging-list', seconds: 30, count: 3 });
          void stage.users.console.rent(BY_HAND_OFFER, 'mine');
        });
        stage.at(AT_WORK + 8, () => {
          stage.wrong({
            ...{ endpoint: 'rent', field: 'new_contract', change: 'set' },
            value: machineOn(stage, BY_HAND_OFFER),
          });
          stage.users.createInstance('b');
        });
        if (fate === 'is deleted') stage.at(AT_WORK + 14, () => stage.users.delete('b'));
      },
    }),
  ),
  {
    name: 'a rent reply names a machine of a person, the first list that shows it confirms that, and the object is deleted (A8)',
    seconds: 700,
    plot: (stage) => {
      stage.at(AT_WORK, () => {
        stage.cause({ name: 'lagging-list', seconds: 30, count: 3 });
        void stage.users.console.rent(BY_HAND_OFFER, 'mine');
      });
      stage.at(AT_WORK + 8, () => {
        stage.wrong({
          ...{ endpoint: 'rent', field: 'new_contract', change: 'set' },
          value: machineOn(stage, BY_HAND_OFFER),
        });
        stage.users.createInstance('b');
      });
      stage.at(AT_WORK + 20, () => {
        const { contracts } = stage.world.market.store.current().tables;
        stage.wrong({
          ...inLists({ field: 'label', change: 'set', value: Object.values(contracts).at(-1)?.label ?? '' }),
          instance: machineOn(stage, BY_HAND_OFFER),
        });
      });
      stage.at(AT_WORK + 90, () => stage.users.delete('b'));
    },
  },
  ...(['stays', 'is deleted'] as const).map(
    (fate): Story => ({
      name: `the reply to a rent call names a machine that does not exist, and its object ${fate} (A8)`,
      seconds: 500,
      plot: (stage) => {
        stage.wrong({ endpoint: 'rent', field: 'new_contract', change: 'set', value: ABSENT_MACHINE });
        if (fate === 'is deleted') stage.at(30, () => stage.users.delete('a'));
      },
    }),
  ),
  misread('one list has the ids of two machines exchanged', { fleet: 2 }, (stage) => [
    inLists({ field: '*', change: 'other-row', instance: stage.machineOf('a') }),
  ]),
  misread('one list shows a machine of another login in place of ours', {}, (stage) => [
    inLists({ field: 'id', change: 'set', value: 99, instance: stage.machineOf('a') }),
  ]),
  {
    name: 'the first reply about the user behind the key of a new account names another one (CRITICAL 0)',
    seconds: 420,
    plot: (stage) => {
      stage.wrong({ endpoint: USER, field: 'id', change: 'plus', value: 1 });
      stage.at(AT_WORK, () => stage.users.delete('a'));
    },
  },
  misread('the user behind the key is another one in one reply', {}, () => [
    { endpoint: USER, field: 'id', change: 'plus', value: 1 },
  ]),
];

/** Facts of a machine that stands still after the end of its contract. */
const contractOver = (stage: Stage, count: number): readonly WrongField[] => [
  inLists({ field: 'actual_status', change: 'set', value: 'stopped', count }),
  inLists({ field: 'intended_status', change: 'set', value: 'stopped', count }),
  inLists({ field: 'end_date', change: 'set', value: Math.floor(stage.world.now / 1000) - 3_600, count }),
];

/** Stories of status words that end a machine. */
const STATE_STORIES: readonly Story[] = [
  {
    name: 'one list says that a machine that works is stopped, and the next comes a minute later',
    seconds: 420,
    plot: (stage) => {
      stage.users.account.set({ pollInterval: '1m' });
      stage.at(AT_WORK, () =>
        stage.wrong(inLists({ field: 'actual_status', change: 'set', value: 'stopped' })),
      );
    },
  },
  {
    name: 'the first list after a rental says that the machine is stopped, and the next ones come minutes later (I9)',
    seconds: 900,
    plot: (stage) => {
      stage.users.account.set({ pollInterval: '5m' });
      const meanwhile = () =>
        stage.wrong(inLists({ field: 'actual_status', change: 'set', value: 'stopped' }));
      stage.strike({ call: 'rent', meanwhile });
    },
  },
  {
    name: 'three lists a minute apart say that a machine that works is stopped, and reads say the truth (A1)',
    seconds: 600,
    plot: (stage) => {
      stage.users.account.set({ pollInterval: '1m' });
      stage.at(AT_WORK, () =>
        stage.wrong(inLists({ field: 'actual_status', change: 'set', value: 'stopped', count: 3 })),
      );
    },
  },
  ...(['exited', 'unknown', 'offline', 'destroyed', 'stopped'] as const).flatMap((status) => [
    misread(`three lists say that a machine that works is ${status}, and reads say the truth`, {}, () => [
      inLists({ field: 'actual_status', change: 'set', value: status, count: 3 }),
    ]),
  ]),
  ...[1, 2, 3].map((count) =>
    misread(
      `${count} lists say that a machine that works is stopped after the end of its contract, and reads say the truth (A1, B14)`,
      {},
      (stage) => contractOver(stage, count),
    ),
  ),
  {
    name: 'three lists say that a machine that works has exited, and no read is answered',
    seconds: 420,
    plot: (stage) => {
      stage.at(AT_WORK, () => {
        stage.wrong(inLists({ field: 'actual_status', change: 'set', value: 'exited', count: 3 }));
        stage.cast({ call: 'read', seconds: 60, fate: { refusal: { status: 503, body: '' } } });
      });
    },
  },
  misread('one list says that a machine that works has exited', {}, () => [
    inLists({ field: 'actual_status', change: 'set', value: 'exited' }),
  ]),
  {
    name: 'lists say that a machine whose host is silent has exited, and a read tells the silence (A1)',
    seconds: 420,
    plot: (stage) =>
      stage.at(AT_WORK, () => {
        stage.cause({ name: 'offline', seconds: 40, instance: stage.machineOf('a') });
        stage.wrong(inLists({ field: 'actual_status', change: 'set', value: 'exited', count: 3 }));
      }),
  },
  misread('one list names another GPU, another disk and another address of a machine', {}, () => [
    inLists({ field: 'gpu_name', change: 'set', value: 'GTX 1050' }),
    inLists({ field: 'disk_space', change: 'set', value: 1 }),
    inLists({ field: 'public_ipaddr', change: 'set', value: '203.0.113.250' }),
  ]),
];

/** Stories of stopped machines, which bill their disk even if the host is silent. The object's books are checked. */
const SILENT_STORIES: readonly Story[] = [
  {
    name: 'the host of a machine that is stopped is silent for ten minutes, and the machine is charged its disk only',
    seconds: 1200,
    plot: (stage) => {
      stage.at(AT_WORK, () => stage.users.setPowerState('a', 'Stopped'));
      stage.at(AT_WORK + 90, () =>
        stage.befall({ name: 'offline', instance: stage.machineOf('a'), seconds: 600 }),
      );
    },
  },
];

/** Stories of replies that are wrong: no single one, and no lists that a read contradicts, end a machine that works. */
export const BELIEF_STORIES: readonly Story[] = [
  ...MONEY_STORIES,
  ...OFFER_STORIES,
  ...FIRST_LIST_STORIES,
  ...UNREAD_STORIES,
  ...CLAIM_STORIES,
  ...STATE_STORIES,
  ...SILENT_STORIES,
];
