import { seededRandom } from '../../../src/lib/random.ts';
import { type JsonObject, objectAt } from '../memory-kube/json.ts';
import { Users } from '../users.ts';
import { NAMESPACE, SimulatedWorld } from '../world.ts';
import type { Edit } from './edit.ts';
import { editsOf } from './edits.ts';
import { ENDPOINT_GROUPS } from './examples/endpoint-groups.ts';
import type { Examples } from './examples/examples.ts';
import { GPU_INSTANCES } from './examples/gpu-instances.ts';
import { MARKETPLACE_ACCOUNTS } from './examples/marketplace-accounts.ts';

/** Object that is edited, and what must stay healthy beside it. */
export interface Subject {
  readonly plural: string;
  readonly name: string;
  /** The object that uses machines: it is ready before and after, and deleted at the end. */
  readonly user: { readonly plural: string; readonly name: string };
  readonly create: (users: Users) => void;
  readonly remove: (users: Users) => void;
  readonly isGone: (users: Users) => boolean;
  /** Seconds from the last edit until it stands as at first. */
  readonly backWithin: number;
  readonly examples: Examples;
}

/** Replacements and backoffs may stand between an edit and the old state. */
const BACK_WITHIN = 900;
/** A group also drains workers, and keeps for ten minutes what it once needed. */
const GROUP_BACK_WITHIN = 2400;
/** Needs one worker. */
const GROUP_LOAD = 50;

const OF_AN_INSTANCE = {
  user: { plural: 'gpuinstances', name: 'a' },
  create: (users: Users) => users.createInstance('a'),
  remove: (users: Users) => users.delete('a'),
  isGone: (users: Users) => users.names().length === 0,
  backWithin: BACK_WITHIN,
};

export const SUBJECTS: readonly Subject[] = [
  { plural: 'gpuinstances', name: 'a', examples: GPU_INSTANCES, ...OF_AN_INSTANCE },
  { plural: 'marketplaceaccounts', name: 'default', examples: MARKETPLACE_ACCOUNTS, ...OF_AN_INSTANCE },
  {
    plural: 'endpointgroups',
    name: 'g',
    examples: ENDPOINT_GROUPS,
    user: { plural: 'endpointgroups', name: 'g' },
    create: (users) => users.groups.create('g', GROUP_LOAD),
    remove: (users) => users.groups.delete('g'),
    isGone: (users) => users.groups.names().length === 0 && users.names().length === 0,
    backWithin: GROUP_BACK_WITHIN,
  },
];

/** A subject as it is at first, and all that can be done to its spec. */
export interface Edited {
  readonly subject: Subject;
  readonly schema: JsonObject;
  readonly first: JsonObject;
  readonly edits: readonly Edit[];
}

/** Creates a subject without a running operator, and reads the stored object. */
export function editedOf(subject: Subject): Edited {
  const world = new SimulatedWorld({
    seed: 1,
    keepTrace: false,
    fate: () => ({ requestMs: 2, responseMs: 2 }),
  });
  const users = new Users(world, seededRandom(1));
  users.account.create('Report');
  subject.create(users);
  const kind = world.kube.kind(subject.plural);
  const object = world.kube.writes.read({ kind, namespace: NAMESPACE, name: subject.name }) ?? {};
  const schema = objectAt(objectAt(kind.schema ?? {}, 'properties'), 'spec');
  const first = objectAt(object, 'spec');
  return { subject, schema, first, edits: editsOf({ schema, first, examples: subject.examples }) };
}
