import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupForm } from '../../api/v1alpha1/endpoint-group-form.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceForm } from '../../api/v1alpha1/gpu-instance-form.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { encodeStatus, type StatusForm } from '../../api/v1alpha1/record.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import { explanationText, recordText, type StatusRow } from '../../views/explanation.ts';
import { printable } from '../../views/printable.ts';
import { ClusterBudgets } from '../budgets.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { CommandError } from '../command-error.ts';
import { countedInstances } from '../limits.ts';
import { accountOf, getObject, listInstances, operatorTimes } from '../objects/cluster-objects.ts';
import { requireIdentity } from '../objects/identity-secret.ts';
import { parseObject } from '../objects/object-name.ts';
import { createOutput } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

/** Runs the operator's own decision on an object, and shows the rule that decided and its reason. */
export const explainCommand: Command = {
  description:
    'Reads the object, its account and the machines of the login, and decides by the same code as the operator, limits of the account included: it records nothing and does nothing. It reads one list and uses the times that the operator publishes; it does not know what the operator remembers between reconciles (backoff, probes) or its own ceilings (such as --max-live-machines). While the marketplace does not answer, it shows what the operator reported last and what follows. For a group it shows every term of the last scaling decision.',
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
  const record = recordOf(endpointGroupForm, group);
  await createOutput(input, context).value(
    { object: `epg/${name}`, autoscaling: group.status?.autoscaling, lines, record },
    printable(`${lines.join('\n')}\n${recordText(record)}`),
  );
  return 0;
}

async function explainInstance(cluster: ClusterSession, name: string, asked: Asked): Promise<number> {
  const { input, context } = asked;
  const object = await getObject<GpuInstance>(cluster, gpuInstanceResource, name);
  const [account, identity, { constants, guessed }, others, { gate: budgets }] = await Promise.all([
    accountOf(cluster, object),
    requireIdentity(cluster),
    operatorTimes(cluster),
    listInstances(cluster, cluster.namespace),
    ClusterBudgets.read(cluster, [cluster.namespace]),
  ]);
  const { instances: objects, missing } = await countedInstances(cluster, account);
  const target = await accountTarget(cluster, account, asked);
  const [{ explainWithLimits, readLogin }, { decisionRow }] = await Promise.all([
    import('../explain/explain-instance.ts'),
    import('../explain/decision-row.ts'),
  ]);
  const row = await withMarketplaceAt(target, { input, context }, async (marketplace) => {
    const reading = { account, identity, objects, budgets, ...(await readLogin(marketplace)) };
    return decisionRow(await explainWithLimits({ object, others, constants }, reading, cluster));
  }).catch((error: unknown) => {
    if (!isOutage(error)) throw error;
    return lastReported(object, error);
  });
  if (guessed !== undefined) context.stderr.write(`Decided by the default times: ${guessed}.\n`);
  if (missing !== undefined) context.stderr.write(`${missing}.\n`);
  const record = recordOf(gpuInstanceForm, object);
  await createOutput(input, context).value(
    { object: `gpui/${name}`, ...row, record },
    printable(explanationText(row) + recordText(record)),
  );
  return 0;
}

/** Returns the operator's own record of the object. */
function recordOf(
  form: StatusForm,
  { status = {} }: EndpointGroup | GpuInstance,
): Readonly<Record<string, unknown>> {
  const { record } = encodeStatus(form, status);
  return typeof record === 'string' ? (JSON.parse(record) as Readonly<Record<string, unknown>>) : {};
}

/** Failures that affect the operator as well; a rate limit or a refused key may concern this caller alone. */
const OUTAGE: ReadonlySet<MarketplaceErrorKind> = new Set(['unavailable', 'timeout', 'malformedReply']);

function isOutage(error: unknown): boolean {
  if (error instanceof CommandError) return isOutage(error.cause);
  return error instanceof MarketplaceError && OUTAGE.has(error.kind);
}

/** Returns an explanation from the object alone, during an outage of the marketplace. */
async function lastReported(object: GpuInstance, error: unknown): Promise<StatusRow> {
  const [{ instanceReport }, { failureParts }] = await Promise.all([
    import('../../views/instance-report.ts'),
    import('../failures/describe-failure.ts'),
  ]);
  const now = Date.now();
  const { status } = object;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const { instanceId } = status ?? {};
  return {
    source: 'status',
    problem: failureParts(error).what.join(' '),
    stage: instanceId === undefined ? 'no machine is recorded' : `machine ${instanceId} is recorded`,
    condition: ready && {
      phase: status?.phase,
      ready: ready.status,
      reason: ready.reason,
      message: ready.message,
    },
    reportedAt: ready?.lastTransitionTime,
    next: [
      'the operator replaces and destroys nothing on its own until the marketplace answers complete lists',
      ...instanceReport(object, [], now).next,
    ].join('; then: '),
  };
}
