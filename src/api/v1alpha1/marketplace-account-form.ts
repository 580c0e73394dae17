import * as z from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { marketplaceAccountConditions } from './conditions.ts';
import { type MarketplaceAccountStatus, marketplaceAccountStatus } from './marketplace-account.ts';
import {
  columns,
  type FieldRow,
  field,
  group,
  partOf,
  recordField,
  restOf,
  type StatusForm,
  written,
} from './record.ts';
import { list, notes, text } from './schema.ts';

/** Characters of the record: every list of it at its maximum length fits. */
const MAX_ACCOUNT_RECORD = 131_072;

const { shape } = marketplaceAccountStatus;

const LOGIN = ['url', 'userId'];
const RETAINED = ['instanceId', 'owner', 'pricePerHour'];
const DELETED_OBJECTS = ['month', 'spent'];
const BREAKER = ['open', 'since'];

/** Returns notes of an object that keeps its keys of the form before the record. */
const kept = (description: string) => notes({ description, keepsUnknown: true });

/**
 * The status as the API server stores it. It keeps unknown keys for one release, like the status of a GpuInstance.
 */
export const marketplaceAccountStoredStatus = z
  .object({
    observedGeneration: shape.observedGeneration,
    conditions: shape.conditions,
    login: partOf(shape.login.unwrap(), LOGIN)
      .meta(
        notes({
          description:
            'Login of the first accepted key, confirmed by two replies. It is pinned: a key of another login changes nothing.',
        }),
      )
      .optional(),
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
    retained: list(partOf(shape.retained.unwrap().element, RETAINED).meta(kept('A retained machine.')), {
      description: 'Machines kept on purpose after their object was deleted. They bill.',
      max: 256,
      list: { type: 'atomic' },
    }).optional(),
    deletedObjects: partOf(shape.deletedObjects.unwrap(), DELETED_OBJECTS)
      .meta(kept('Money that deleted objects spent.'))
      .optional(),
    breaker: partOf(shape.breaker.unwrap(), BREAKER)
      .meta(kept('The breaker against mass replacement.'))
      .optional(),
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

/**
 * Returns the entries of a stored text; none if the text has another form. An object is an entry of the form before
 * the record.
 */
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

const wholeLogin = group('login', LOGIN, { provenAt: LONG_AGO });

/** An incomplete login is ignored: the key pins it again. */
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
    columns('retained', Object.fromEntries(RETAINED.map((key) => [key, key])), {
      ownerUid: '',
      since: LONG_AGO,
      policy: 'Retain',
    }),
    group('deletedObjects', DELETED_OBJECTS, { month: '', spent: '0', rentals: [] }),
    group('breaker', BREAKER, { open: false, since: LONG_AGO }),
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
