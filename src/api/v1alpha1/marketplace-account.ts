import * as z from 'zod';
import { labelSelector, objectName, secretKey } from './core.ts';
import { type CustomObject, conditions, observedGeneration } from './object.ts';
import { outage } from './outage.ts';
import {
  choice,
  countOrShare,
  dollars,
  dollarsAboveZero,
  duration,
  flag,
  immutableField,
  integer,
  list,
  marketplaceId,
  notes,
  text,
  timestamp,
  whereWritten,
} from './schema.ts';

const LOOPBACK = "['localhost', '127.0.0.1', '[::1]', '::1']";

const url = text({
  description:
    "The marketplace. It must be in the operator's list (`--marketplace-url`). If left out: the first of that list when the login is first verified; the account then keeps it. Immutable.",
  example: 'https://console.vast.ai',
  maxLength: 512,
  pattern: '^https?://[^\\s/?#@]+$',
  write: 'write scheme, host and port only, such as https://marketplace.example, without a path',
  rules: [
    {
      rule: `!self.startsWith('http:') || !isURL(self) || url(self).getHostname() in ${LOOPBACK}`,
      message: 'write https: plain http is accepted on the loopback address only',
    },
  ],
});

/** Markets that an account may name. */
const markets = ['Vast'] as const;

const limits = z
  .object({
    maxInstances: integer({
      description: "Maximum number of machines of this account, including the operator's orphaned ones.",
      example: '10',
      min: 0,
      max: 10_000,
    }).optional(),
    maxPricePerHour: dollarsAboveZero({
      write: 'write more than 0: no machine is free; to rent nothing, write suspend: true',
      description:
        'Maximum hourly price of one machine, disk included. Used as `maxPricePerHour` of an alternative that sets none. Offers without a price are refused, even with `allowUnknownPrice` in the object, unless `allowUnknownPrice` is set here too.',
    }).optional(),
    allowUnknownPrice: flag({
      description:
        'True to let objects with `allowUnknownPrice` rent offers without a price although `maxPricePerHour` is set. Each such machine counts with its maximum price.',
      example: 'true',
    }).optional(),
    maxSpendPerHour: dollars({
      description: 'Maximum cost of all machines together in an hour. 0: nothing is rented or started.',
      example: '"20"',
    }).optional(),
    maxSpendPerMonth: dollars({
      description: 'Maximum spending in one calendar month (UTC). 0: nothing is rented or started.',
      example: '"500"',
    }).optional(),
    minCredit: dollars({
      description: 'Credit that must remain before anything is rented or started.',
      example: '"5"',
    }).optional(),
  })
  .meta(
    notes({
      description: 'Limits that stop new rentals and starts. They never stop a machine that runs.',
      rules: [
        {
          rule: `!has(self.maxPricePerHour) || !has(self.maxSpendPerHour) || ${whereWritten('dollars', ['self.maxPricePerHour', 'self.maxSpendPerHour'], 'double(self.maxPricePerHour) <= double(self.maxSpendPerHour)')}`,
          message: 'write a maxPricePerHour that is not above maxSpendPerHour',
          messageExpression:
            "'maxPricePerHour ' + self.maxPricePerHour + ' is above maxSpendPerHour ' + self.maxSpendPerHour + ': no machine at that price could ever be rented'",
          fieldPath: '.maxPricePerHour',
        },
      ],
    }),
  );

const allowedNamespaces = z
  .object({
    from: choice(['Same', 'All', 'Selector'], { description: "Same: the account's own namespace." }).default(
      'Same',
    ),
    selector: labelSelector.optional(),
  })
  .meta(
    notes({
      description: 'Namespaces whose objects may use this account.',
      rules: [
        {
          rule: "self.from != 'Selector' || has(self.selector)",
          message: 'write a selector, or from: All for every namespace',
          fieldPath: '.selector',
          reason: 'FieldValueRequired',
        },
        {
          rule: "self.from == 'Selector' || !has(self.selector)",
          message: 'write from: Selector, or leave selector out',
          fieldPath: '.selector',
          reason: 'FieldValueForbidden',
        },
      ],
    }),
  );

export const marketplaceAccountSpec = z
  .object({
    market: choice(markets, { description: 'The market that rents the machines. It cannot change.' }).default(
      'Vast',
    ),
    url: url.optional(),
    apiKeySecretRef: z
      .object({
        name: objectName("The Secret, in the account's own namespace."),
        key: secretKey('The key in the Secret.').default('api-key'),
      })
      .meta(
        notes({
          description:
            'The Secret that holds the API key. It is read every 60 s and whenever the marketplace refuses the key.',
          example: '{name: marketplace-key}',
        }),
      ),
    suspend: flag({
      description:
        'Stop renting and starting with this account. Running machines keep running and billing; a lost machine is kept, and its replacement waits. Objects can still be deleted.',
      example: 'true',
    }).optional(),
    pollInterval: duration({
      description:
        "Time between two polls of the marketplace; at least the operator's `--min-poll-interval`.",
      min: '1s',
      max: '10m',
    }).default('10s'),
    allowedNamespaces: allowedNamespaces.prefault({}),
    limits: limits.prefault({}),
    orphanPolicy: choice(['Report', 'Destroy'], {
      description:
        'Policy for a machine that this operator rented and no object claims: report it, or destroy it after `--orphan-age`. A machine listed again after the operator destroyed it is destroyed in either case.',
    }).default('Report'),
    adoption: choice(['None', 'Unlabelled'], {
      description:
        'Whether `adopt` may adopt machines of this login. Labelled or claimed machines are never adopted.',
    }).default('None'),
    maxUnhealthy: countOrShare({
      description:
        'Maximum number of unhealthy machines (exited, unknown, offline or missing) at the same time; above it the breaker opens, which stops replacing and sweeping. It also opens if more than 5 turn unhealthy within 2 minutes, in several lists. One machine beside healthy ones is always replaced; `100%` turns the breaker off unless a list fails.',
      example: '20%',
    }).default('20%'),
    maxUnhealthyHold: duration({
      description:
        'Time after which unhealthy machines are replaced although the breaker is open: one at a time, at most 10% in 10 minutes.',
      example: '30m',
      max: '24h',
    }).default('30m'),
  })
  .meta(
    notes({
      description: 'The desired state.',
      rules: [
        immutableField('url', 'url cannot change: create another MarketplaceAccount for another marketplace'),
        immutableField(
          'market',
          'market cannot change: create another MarketplaceAccount for another market',
        ),
      ],
    }),
  );

const login = z
  .object({
    url: text({ description: 'The marketplace.', maxLength: 512 }),
    userId: marketplaceId("The user's id there."),
    provenAt: timestamp({ description: 'When a key first proved this login.' }),
  })
  .meta(
    notes({
      description:
        'Login of the first accepted key, confirmed by two replies. It is pinned: a key of another login changes nothing.',
      atomic: true,
    }),
  );

const counts = z
  .object({
    objects: z.int().meta(notes({ description: 'GpuInstances that name this account.' })),
    rented: z.int().meta(notes({ description: 'Machines that an object claims.' })),
    billing: z
      .int()
      .meta(notes({ description: 'Machines rented by this operator that bill, claimed or not.' })),
    retained: z
      .int()
      .meta(notes({ description: 'Machines kept on purpose after their object was deleted.' })),
    orphaned: z.int().meta(notes({ description: 'Machines rented by this operator that no object claims.' })),
    copied: z
      .int()
      .meta(
        notes({
          description:
            'Machines with a label of this operator that is edited, or that does not match their start time. They bill.',
        }),
      )
      .optional(),
    foreign: z.int().meta(notes({ description: 'Machines of the login that this operator did not rent.' })),
  })
  .meta(notes({ description: 'Machines of the login.', atomic: true }));

const avoided = z.object({
  kind: choice(['Machine', 'Host'], { description: 'What is avoided.' }),
  id: marketplaceId("The marketplace's id of it."),
  until: timestamp({ description: 'When it may be rented again.' }),
  failures: z
    .int()
    .min(1)
    .meta(notes({ description: 'Number of failures; each doubles the time.' })),
  reason: text({ description: 'Why, as a word of the catalogue.', maxLength: 128 }),
  namespace: text({
    description: 'The only namespace whose objects report it; left out if several do, or a person added it.',
    maxLength: 63,
  }).optional(),
});

const retained = z.object({
  instanceId: marketplaceId("The machine's contract."),
  owner: text({ description: 'namespace/name of the object that kept it.', maxLength: 320 }),
  ownerUid: text({ description: 'The uid of that object.', maxLength: 64 }),
  since: timestamp({ description: 'When the operator released it.' }),
  policy: choice(['Stop', 'Retain'], { description: 'The deletion policy that kept it.' }),
  pricePerHour: dollars({ description: 'Hourly cost.' }).optional(),
});

const deletedObjects = z
  .object({
    month: text({ description: 'The calendar month (UTC) of `spent`.', example: '2026-11', maxLength: 7 }),
    spent: dollars({ description: 'Spending of deleted objects in that month.' }),
    rentals: list(timestamp({ description: 'When a machine was rented.' }), {
      description: 'Rentals of deleted objects in the last hour.',
      max: 1000,
      list: { type: 'atomic' },
    }),
    machines: list(marketplaceId("The machine's contract."), {
      description:
        'The newest machines that the operator destroyed for deleted objects. A machine that is listed again is destroyed again, regardless of `orphanPolicy`.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
  })
  .meta(notes({ description: 'Record of deleted objects for limits.', atomic: true }));

const breaker = z
  .object({
    open: flag({ description: 'True if more machines are unhealthy than `maxUnhealthy` allows.' }),
    since: timestamp({ description: 'Time of its last change.' }),
    unhealthy: z
      .int()
      .meta(notes({ description: 'Machines that were unhealthy or missing while it was last open.' }))
      .optional(),
    releasedAt: timestamp({
      description:
        'Time from which replacement continues slowly, by `maxUnhealthyHold` or a person, while as many machines are unhealthy.',
    }).optional(),
    closedBy: text({
      description: 'Last seen value of `gpurental.dev/close-breaker`; only a new value releases the breaker.',
      maxLength: 253,
    }).optional(),
  })
  .meta(notes({ description: 'The breaker against mass replacement.', atomic: true }));

const sweptMachine = z
  .object({
    instanceId: marketplaceId('The machine.'),
    at: timestamp({ description: 'When its destroy was decided.' }),
  })
  .meta(notes({ description: 'An orphaned machine that was destroyed.' }));

export const marketplaceAccountStatus = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    outage: outage.optional(),
    login: login.optional(),
    installation: text({
      description:
        'The installation that rents with this account: the first eight characters of its id, as labels of machines carry them.',
      example: 'a1b2c3d4',
      pattern: '^[0-9a-f]{8}$',
      maxLength: 8,
    }).optional(),
    twoFactor: choice(['Enabled', 'Disabled', 'Legacy'], {
      description: 'Two-factor login of the user; left out if the key may not read it.',
    }).optional(),
    sshKeyRegistered: flag({
      description: 'True if the login has an SSH key; left out if the key may not read it.',
    }).optional(),
    labelsEchoed: flag({
      description: "Whether the marketplace echoes labels, as seen at the account's first rental.",
    }).optional(),
    credit: dollars({
      description: 'Credit left; written when it moves by 10 %, at most hourly.',
    }).optional(),
    pricePerHour: dollars({
      description: 'Hourly cost of all machines that this operator rented.',
    }).optional(),
    runway: duration({ description: 'Time until the credit is used up at that price.' }).optional(),
    machines: counts.optional(),
    avoid: list(avoided, {
      description: 'Machines and hosts that failed and are not rented for a while.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    retained: list(retained, {
      description: 'Machines kept on purpose after their object was deleted. They bill.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    lastRentalAt: timestamp({
      description:
        'The newest known rental; a younger machine of this operator proves that the cluster was restored from a backup.',
    }).optional(),
    labelCopies: list(marketplaceId("The machine's contract."), {
      description:
        'Machines with a copied label of this operator, listed together with the original. They are never destroyed.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    rolledBack: list(marketplaceId("The machine's contract."), {
      description:
        "Machines that prove a rollback of the cluster's memory. While one of them is listed, no orphaned machine is destroyed.",
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    rollbackConfirmed: text({
      description:
        'Last seen value of `gpurental.dev/confirm-rollback`; only a new value confirms a rollback.',
      maxLength: 253,
    }).optional(),
    rollbackConfirmedAt: timestamp({
      description: 'When a person last confirmed a rollback.',
    }).optional(),
    massOrphaned: list(marketplaceId("The machine's contract."), {
      description:
        'Machines that lost their objects together. While one is listed no orphaned machine is destroyed.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    orphansConfirmed: list(marketplaceId("The machine's contract."), {
      description: 'Machines that a person has confirmed; they are destroyed slowly.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    orphansConfirmedBy: text({
      description: 'Last seen value of `gpurental.dev/confirm-orphans`; only a new value confirms.',
      maxLength: 253,
    }).optional(),
    orphansSwept: list(sweptMachine, {
      description:
        'Orphaned machines that the operator destroyed in the last hour, or tried to destroy; they count for the limit.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    deletedObjects: deletedObjects.optional(),
    breaker: breaker.optional(),
    requestedAt: text({
      description: 'The last handled value of `gpurental.dev/requested-at`.',
      maxLength: 253,
    }).optional(),
  })
  .meta(notes({ description: 'Observed state. Written by the operator only.', atomic: true }));

export type MarketplaceAccountSpec = z.output<typeof marketplaceAccountSpec>;
/** The spec as users write it: every field with a default is optional. */
export type MarketplaceAccountManifestSpec = z.input<typeof marketplaceAccountSpec>;
export type MarketplaceAccountStatus = z.output<typeof marketplaceAccountStatus>;
/** A login at a marketplace. */
export type MarketplaceAccount = CustomObject<
  'MarketplaceAccount',
  MarketplaceAccountSpec,
  MarketplaceAccountStatus
>;

/** Returns the market of an account. One from before the field existed has Vast, whatever the installed CRD is. */
export function marketOf({
  spec: { market = 'Vast' },
}: {
  readonly spec: Partial<Pick<MarketplaceAccount['spec'], 'market'>>;
}): (typeof markets)[number] {
  return market;
}
