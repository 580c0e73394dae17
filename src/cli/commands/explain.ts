import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Action, Decision, Explained, Requeue, Stage } from '../../controllers/gpu-instance/public.ts';
import { allInstances } from '../all-instances.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { countedInstances } from '../limits.ts';
import { accountOf, getObject, listInstances, operatorTimes } from '../objects/cluster-objects.ts';
import { requireIdentity } from '../objects/identity-secret.ts';
import { parseObject } from '../objects/object-name.ts';
import { ageText, exactDollars } from '../output/amounts.ts';
import { createOutput, printable } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { type MarketplaceSession, withMarketplaceAt } from '../sessions/marketplace-session.ts';

/** Runs the operator's own decision on an object, and shows the rule that fired. */
export const explainCommand: Command = {
  description:
    'Reads the object, its account and the machines of the login, and decides by the same code as the operator, limits of the account included: it records nothing and does nothing. It reads one list and uses the times that the operator publishes; it does not know what the operator remembers between reconciles (backoff, probes) or its own ceilings (such as --max-live-machines). For a group it shows every term of the last scaling decision.',
  examples: ['gpu-rent explain gpui/trainer', 'gpu-rent explain epg/chat -n serving'],
  args: [{ name: '<object>', description: 'gpui/name or epg/name.' }],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const { resource, name } = parseObject(input.args[0] ?? '', gpuInstanceResource, endpointGroupResource);
    return withCluster(input, context, async (cluster) => {
      if (resource === endpointGroupResource) return explainGroup(cluster, name, { input, context });
      return explainInstance(cluster, name, { input, context });
    });
  },
};

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

async function explainGroup(
  cluster: ClusterSession,
  name: string,
  { input, context }: Asked,
): Promise<number> {
  const group = await getObject<EndpointGroup>(cluster, endpointGroupResource, name);
  const { explainGroup: linesOf } = await import('../../controllers/endpoint-group/public.ts');
  const lines = linesOf(group);
  await createOutput(input, context).value(
    { object: `epg/${name}`, autoscaling: group.status?.autoscaling, lines },
    printable(lines.join('\n')),
  );
  return 0;
}

async function explainInstance(cluster: ClusterSession, name: string, asked: Asked): Promise<number> {
  const { input, context } = asked;
  const object = await getObject<GpuInstance>(cluster, gpuInstanceResource, name);
  const [account, identity, { constants, guessed }, others] = await Promise.all([
    accountOf(cluster, object),
    requireIdentity(cluster),
    operatorTimes(cluster),
    listInstances(cluster, cluster.namespace),
  ]);
  const { instances: objects, missing } = await countedInstances(cluster, account);
  const target = await accountTarget(cluster, account, asked);
  const { explainWithLimits } = await import('../explain/explain-instance.ts');
  const row = await withMarketplaceAt(target, { input, context }, async (marketplace) => {
    const reading = { account, identity, objects, ...(await readLogin(marketplace)) };
    return decisionRow(await explainWithLimits({ object, others, constants }, reading, cluster.kube));
  });
  if (guessed !== undefined) context.stderr.write(`Decided by the default times: ${guessed}.\n`);
  if (missing !== undefined) context.stderr.write(`${missing}.\n`);
  await createOutput(input, context).value({ object: `gpui/${name}`, ...row }, printable(decisionText(row)));
  return 0;
}

/** One complete list and the user, as the operator's feed would have them. */
async function readLogin({ client, baseUrl }: MarketplaceSession) {
  const begunAt = Date.now();
  const [instances, user] = await Promise.all([allInstances(client), client.users.current()]);
  const now = Date.now();
  const rows = new Map(instances.map((row) => [row.id, row]));
  const sshKeyRegistered = user.sshKey !== undefined && user.sshKey !== '';
  const list = { begunAt, endedAt: now, rows };
  return { client, baseUrl, now, userId: user.id, credit: user.credit, sshKeyRegistered, list };
}

/** The decision as data for machines. */
function decisionRow({ stage, decision, reads }: Explained) {
  return {
    stage: stageText(stage),
    rule: decision.rule,
    reads,
    records: decision.record.type,
    actions: decision.actions.map(actionText),
    condition: decision.status ? conditionOf(decision.status.verdict) : undefined,
    events: decision.events.map(({ reason, note }) => ({ reason, note })),
    next: requeueText(decision.requeue),
  };
}

function conditionOf({ phase, Ready }: NonNullable<Decision['status']>['verdict']) {
  return { phase, ready: Ready.status, reason: Ready.reason, message: Ready.message };
}

/** The same for people. */
function decisionText(row: ReturnType<typeof decisionRow>): string {
  const { condition } = row;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Stage', row.stage],
    ['Rule', row.rule || '(none had to fire)'],
    ['Read', row.reads.length > 0 ? tallied(row.reads).join(', ') : undefined],
    [
      'Would set',
      condition && `${condition.phase}; Ready ${condition.ready}, ${condition.reason}: ${condition.message}`,
    ],
    ['Would do', row.actions.length > 0 ? row.actions.join('; ') : 'nothing'],
    ['Then', row.next],
  ];
  return facts
    .flatMap(([label, text]) => (text === undefined ? [] : [`${`${label}:`.padEnd(11)} ${text}\n`]))
    .join('');
}

/** `offers (2 times)` for what was read more than once, in the order of the first time. */
function tallied(texts: readonly string[]): readonly string[] {
  return [...Map.groupBy(texts, (text) => text)].map(([text, { length }]) =>
    length === 1 ? text : `${text} (${length} times)`,
  );
}

function stageText(stage: Stage): string {
  switch (stage.type) {
    case 'machine':
      return `machine ${stage.machine.instanceId} is ${stage.state.type}`;
    case 'blocked':
      return `held: ${stage.reason}, ${stage.detail}`;
    case 'found':
      return `machine ${stage.instanceId} was found by its label`;
    case 'pending':
      return 'the outcome of a rental is not yet known';
    case 'unrented':
      return `unrented after ${stage.attempt} rentals`;
    default:
      return stage.type;
  }
}

function actionText(action: Action): string {
  switch (action.type) {
    case 'rent': {
      const { offer, pricePerHour, attempt } = action.purchase;
      const price = pricePerHour === undefined ? 'an unknown price' : `${exactDollars(pricePerHour)}/h`;
      return `rent offer ${offer.id} (${offer.gpuName ?? 'GPU'}) at ${price} as rental ${attempt}`;
    }
    case 'destroy':
      return `destroy machine ${action.instanceId} (${action.reason})`;
    case 'relabel':
    case 'stop':
    case 'start':
      return `${action.type} machine ${action.instanceId}`;
    case 'retain':
      return `leave machine ${action.instanceId} behind (${action.policy}); it bills`;
    case 'release':
      return 'take the finalizer away, so that the object can go';
  }
}

function requeueText({ afterMs, onList }: Requeue): string {
  const times = [
    ...(onList ? ['after the next list of machines'] : []),
    ...(afterMs === undefined ? [] : [`in ${ageText(afterMs)} at the latest`]),
  ];
  return times.length === 0
    ? 'reconciles again when something changes'
    : `reconciles again ${times.join(', ')}`;
}
