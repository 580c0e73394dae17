import * as z from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { marketplaceAccountConditions } from './conditions.ts';
import { type MarketplaceAccountStatus, marketplaceAccountStatus } from './marketplace-account.ts';
import {
  columns,
  type FieldRow,
  field,
  group,
  recordField,
  restOf,
  type StatusForm,
  written,
} from './record.ts';
import { dollars, flag, list, marketplaceId, notes, text, timestamp } from './schema.ts';

/** Characters of the record: every list of it at its maximum length fits. */
const MAX_ACCOUNT_RECORD = 131_072;

const { shape } = marketplaceAccountStatus;

const login = z
  .object({
    url: text({ description: 'The marketplace.', maxLength: 512 }).optional(),
    userId: marketplaceId("The user's id there.").optional(),
  })
  .meta(
    notes({
      description:
        'The login that two replies about the first accepted key named. It is pinned: a key of another login changes nothing.',
    }),
  );

const retained = z
  .object({
    instanceId: marketplaceId("The machine's contract.").optional(),
    owner: text({ description: 'namespace/name of the object that kept it.', maxLength: 320 }).optional(),
    pricePerHour: dollars({ description: 'Its cost in an hour.' }).optional(),
  })
  .meta(notes({ description: 'A retained machine.', keepsUnknown: true }));

const breaker = z
  .object({
    open: flag({ description: 'Whether more machines are unhealthy than `maxUnhealthy` allows.' }).optional(),
    since: timestamp({ description: 'Time of its last change.' }).optional(),
  })
  .meta(notes({ description: 'The breaker against mass replacement.', keepsUnknown: true }));

const deletedObjects = z
  .object({
    month: text({ description: 'The calendar month (UTC) of `spent`.', maxLength: 7 }).optional(),
    spent: dollars({ description: 'Cost of deleted objects in that month.' }).optional(),
  })
  .meta(notes({ description: 'Money that deleted objects spent.', keepsUnknown: true }));

/** The status as the API server stores it. It keeps unknown keys for one release, as that of a GpuInstance does. */
export const marketplaceAccountStoredStatus = z
  .object({
    observedGeneration: shape.observedGeneration,
    conditions: shape.conditions,
    login: login.optional(),
    installation: shape.installation,
    twoFactor: shape.twoFactor,
    sshKeyRegistered: shape.sshKeyRegistered,
    credit: shape.credit,
    pricePerHour: shape.pricePerHour,
    runway: shape.runway,
    machines: shape.machines,
    avoid: list(text({ description: 'One machine or host.', maxLength: 512 }), {
      description:
        'Machines and hosts that failed and are not rented for a while: `Host 2100 until 2026-11-20T12:00:00Z (HostOffline, 2 failures)`.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    retained: list(retained, {
      description: 'Machines kept on purpose after their object was deleted. They bill.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    deletedObjects: deletedObjects.optional(),
    breaker: breaker.optional(),
    record: recordField(
      MAX_ACCOUNT_RECORD,
      'Do not edit: a text that cannot be read counts as no record.',
    ).optional(),
  })
  .meta(
    notes({
      description: 'Observed state. Written by the operator only.',
      atomic: true,
      keepsUnknown: true,
    }),
  );

type Avoided = NonNullable<MarketplaceAccountStatus['avoid']>[number];

function avoidText({ kind, id, until, reason, failures, namespace }: Avoided): string {
  const times = failures === 1 ? '1 failure' : `${failures} failures`;
  return `${kind} ${id} until ${until} (${reason}, ${times}${namespace === undefined ? '' : `, ${namespace}`})`;
}

const AVOIDED = /^(Host|Machine) (\S+) until (\S+) \((.*), (\d+) failures?(?:, ([a-z0-9.-]+))?\)$/s;

/** Returns the entries of a stored text; none for a text in another form. An object is an entry of the form before the record. */
function readAvoided(stored: unknown): readonly Avoided[] {
  if (isJsonObject(stored)) return [stored as Avoided];
  if (typeof stored !== 'string') return [];
  const [, kind, id = '', until = '', reason = '', failures = '1', namespace] = AVOIDED.exec(stored) ?? [];
  if (kind !== 'Host' && kind !== 'Machine') return [];
  const by = namespace !== undefined && { namespace };
  return [{ kind, id, until, failures: Number(failures), reason, ...by }];
}

/** Time of an entry whose own was lost with the record. */
const LONG_AGO = '1970-01-01T00:00:00Z';

const wholeLogin = group('login', ['url', 'userId'], { provenAt: LONG_AGO });

/** Half a login is none: the key pins it again. */
const loginRow: FieldRow = {
  ...wholeLogin,
  join: (stored, rest) =>
    isJsonObject(stored) && 'url' in stored && 'userId' in stored ? wholeLogin.join(stored, rest) : undefined,
};

const {
  // Fields that people read whole.
  observedGeneration: _generation,
  conditions: _conditions,
  installation: _installation,
  twoFactor: _twoFactor,
  sshKeyRegistered: _sshKey,
  credit: _credit,
  pricePerHour: _price,
  runway: _runway,
  machines: _machines,
  avoid: _avoid,
  ...remembered
} = shape;

/** A MarketplaceAccount: rows for people; the record has the rest. */
export const marketplaceAccountForm: StatusForm = {
  rows: [
    ...['observedGeneration', 'conditions', 'installation'].map((name) => field(name)),
    loginRow,
    ...['twoFactor', 'sshKeyRegistered', 'credit', 'pricePerHour', 'runway', 'machines'].map((name) =>
      field(name),
    ),
    written<[readonly Avoided[]]>('avoid', ['avoid'], {
      write: (avoid) => avoid.map(avoidText),
      read: (stored) => (Array.isArray(stored) ? [stored.flatMap(readAvoided)] : undefined),
    }),
    columns(
      'retained',
      { instanceId: 'instanceId', owner: 'owner', pricePerHour: 'pricePerHour' },
      { ownerUid: '', since: LONG_AGO, policy: 'Retain' },
    ),
    group('deletedObjects', ['month', 'spent'], { month: '', spent: '0', rentals: [] }),
    group('breaker', ['open', 'since'], { open: false, since: LONG_AGO }),
  ],
  record: z.object({
    ...remembered,
    ...{
      login: restOf(shape.login.unwrap(), '`provenAt`: when a key first proved the login.'),
      retained: z
        .array(shape.retained.unwrap().element.partial())
        .meta({ description: 'More of each retained machine: uid of the owner, beginning, policy.' })
        .optional(),
      deletedObjects: restOf(
        shape.deletedObjects.unwrap(),
        'Rentals of deleted objects in the last hour, and the newest machines that were destroyed for them.',
      ),
      breaker: restOf(
        shape.breaker.unwrap(),
        'Unhealthy machines while it was last open, and how it was released.',
      ),
    },
  }),
  memory: marketplaceAccountStatus,
  conditions: new Set(Object.keys(marketplaceAccountConditions)),
  maxRecord: MAX_ACCOUNT_RECORD,
  dropped: [],
  needRecord: [],
};
