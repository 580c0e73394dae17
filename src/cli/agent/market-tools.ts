import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { isReason } from '../../api/v1alpha1/reasons.ts';
import type { Random } from '../../lib/random.ts';
import { hourlyText } from '../../views/amounts.ts';
import { isMet, type Plan, planText } from '../../views/plan.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { CommandError } from '../command-error.ts';
import { ALL_OFFERS, gpuModels } from '../gpu-models.ts';
import { readLog } from '../logs/machine-log.ts';
import { accountOf } from '../objects/cluster-objects.ts';
import { yamlOf } from '../output/output.ts';
import { withClusterViews } from '../plan/cluster-view.ts';
import { plannedObjects } from '../plan/manifests.ts';
import { planObject, readOnce } from '../plan/plan-object.ts';
import { searchApiKey } from '../secrets/api-key.ts';
import { accountTarget } from '../sessions/account-access.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type SessionTarget, withMarketplace, withMarketplaceAt } from '../sessions/marketplace-session.ts';
import { type Answer, type NextAction, refusal } from './contract.ts';
import { finishedLog, shownLog } from './log-answers.ts';
import type { AgentManifest } from './manifest.ts';
import { messageText } from './text.ts';
import type { ToolArguments } from './tools.ts';

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

const QUIET = { show: () => {}, clear: () => {} };
const KEY_MISSING =
  'The server has no API key of the marketplace, and may not read that of the account. A person sets GPU_RENT_API_KEY for it.';

/** Returns a plan by the operator's own decision. Rejects with the error of the cluster or the marketplace. */
export async function planAnswer(
  manifest: AgentManifest,
  call: ToolArguments<'plan'>,
  asked: Asked,
): Promise<Answer> {
  const [planned] = await plannedObjects([{ text: await yamlOf(manifest), file: 'the arguments' }]);
  if (!planned) throw new Error('a manifest of one object holds none');
  const { maxCost, maxLifetime, idempotencyKey } = call;
  const isWhole = maxCost !== undefined && maxLifetime !== undefined && idempotencyKey !== undefined;
  const run: NextAction = isWhole ? { tool: 'run', arguments: { ...call } } : null;
  const { input, context } = asked;
  const hasKey = (await searchApiKey(input.options, context)) !== undefined;
  const plan = await withClusterViews([planned], asked, async ([first]) => {
    if (!first) throw new Error('an object without a view');
    const [, view] = first;
    if (!hasKey && !view.target?.apiKey) return undefined;
    return withMarketplaceAt(view.target ?? {}, asked, (session) =>
      planObject(planned, { view, ...readOnce(session), input, progress: QUIET }),
    );
  });
  if (!plan)
    return refusal('InputMissing', `${KEY_MISSING} The manifest itself is valid.`, { nextAction: run });
  return resultOf(plan, run);
}

function resultOf(plan: Plan, run: NextAction): Answer {
  const message = messageText(planText({ ...plan, candidates: [] }));
  const data = { ...plan, candidates: plan.candidates.slice(0, MAX_CANDIDATES) };
  if (isMet(plan)) return { ok: true, reason: 'Planned', message, nextAction: run, data };
  const { reason } = plan;
  const isSearch = reason === 'NoOffers';
  return refusal(reason !== undefined && isReason(reason) ? reason : 'Failed', message, {
    nextAction: isSearch ? { tool: 'list_gpus', arguments: {} } : null,
    data,
  });
}

const MAX_CANDIDATES = 5;

/** Returns the GPU models for rent. Rejects with the error of the marketplace. */
export async function gpusAnswer({ input, context }: Asked): Promise<Answer> {
  if ((await searchApiKey(input.options, context)) === undefined) return refusal('InputMissing', KEY_MISSING);
  const offers = await withMarketplace(input, context, ({ client }) =>
    client.offers.search({ ...ALL_OFFERS, pricing: 'on-demand' }),
  );
  const models = gpuModels(offers, 'pricePerHour').map(({ name, regions, ...rest }) => ({
    name: messageText(name),
    ...rest,
    regions: regions.map(messageText),
  }));
  const [cheapest] = models.toSorted(
    (one, other) => (one.minPrice ?? Infinity) - (other.minPrice ?? Infinity),
  );
  const from = cheapest ? `, from $${hourlyText(cheapest.minPrice) ?? '?'}/h (${cheapest.name})` : '';
  return {
    ...{ ok: true, reason: 'Listed', nextAction: null },
    message: `${models.length} GPU models are for rent${from}.`,
    data: models,
  };
}

interface LogMeans extends Asked {
  readonly cluster: ClusterSession;
  readonly random: Random;
}

/** Returns the end of a machine's log. Rejects with the error of the marketplace. */
export async function logAnswer(object: GpuInstance, tailLines: number, means: LogMeans): Promise<Answer> {
  const { input, context, random } = means;
  const { name } = object.metadata;
  const id = object.status?.instanceId;
  const status = { tool: 'status', arguments: { name, waitSeconds: 30 } } as const;
  if (id === undefined) return finishedLog(object, random);
  const target = await targetOf(object, means);
  if (!target) return refusal('InputMissing', KEY_MISSING, { nextAction: status });
  const text = await withMarketplaceAt(target, { input, context }, (session) =>
    readLog(session, { id, query: { tailLines } }, context),
  );
  const lines = text
    .split('\n')
    .slice(-tailLines - 1)
    .join('\n');
  return shownLog(object, { log: lines, part: 'The end' }, random);
}

/** Returns the account's own access, else the caller's; undefined if neither has a key. */
async function targetOf(
  object: GpuInstance,
  { cluster, input, context }: LogMeans,
): Promise<SessionTarget | undefined> {
  const own = await searchApiKey(input.options, context);
  try {
    const account: MarketplaceAccount = await accountOf(cluster, object);
    return await accountTarget(cluster, account, { input, context });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return own && {};
  }
}
