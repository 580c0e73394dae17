import { type GpuInstanceStatus, MAX_STATUS_TEXT } from '../../api/v1alpha1/gpu-instance.ts';
import { FUSE_CLIENTS, imageClients } from '../../instance/image-clients.ts';
import { fixedFuse } from '../../instance/machine-fuses.ts';
import { omitUndefined } from '../../lib/json.ts';
import { fittingText } from '../../lib/text.ts';
import { formatTime } from '../../lib/time.ts';
import { findCondition } from '../../runtime/conditions.ts';
import { conditionState } from './conditions.ts';
import type { Added, StatusDecision } from './decision.ts';
import type { Facts } from './facts.ts';
import type { SelfEndView } from './types.ts';

/** Answer of a machine that has not shown that it can end itself. */
type Unproven = Exclude<SelfEndView, { type: 'proven' }>;

/**
 * Returns the settled answer on whether the machine can end itself, and the event of an unproven machine once. A
 * lease renewal that shows the proof also counts, even after the answer was settled.
 */
export function addedSelfEnd(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  { status: { fields } }: StatusDecision,
): Added {
  if (fields.selfEnd === undefined || fields.instanceId !== facts.object.status?.instanceId) return {};
  const view = viewOf(facts);
  if (!view) return {};
  const selfEnd = settled(facts, fields.selfEnd, view);
  const { image, instanceId } = fields;
  const isReported = view.type !== 'proven' && !(view.type === 'unread' && view.isMarkets);
  const note = isReported ? unprovenNote(view, { image, instanceId }) : undefined;
  const event = { type: 'Warning', reason: 'SelfEndUnproven', action: 'CheckingSelfEnd' } as const;
  return {
    fields: { ...fields, selfEnd },
    ...(note !== undefined && { events: [{ ...event, note }] }),
  };
}

/** Returns the answer to record; undefined without a new one. */
function viewOf({ object, machine }: Pick<Facts, 'object' | 'machine'>): SelfEndView | undefined {
  const { proof, checkedAt } = object.status?.selfEnd ?? {};
  if (machine.lease?.isProven) return proof === 'Proven' ? undefined : { type: 'proven' };
  return checkedAt === undefined ? machine.selfEnd : undefined;
}

function settled(
  { clock: { now } }: Pick<Facts, 'clock'>,
  { detail: _before, ...fuses }: NonNullable<GpuInstanceStatus['selfEnd']>,
  view: SelfEndView,
): GpuInstanceStatus['selfEnd'] {
  const checkedAt = formatTime(now);
  if (view.type === 'proven') return { ...fuses, proof: 'Proven', checkedAt };
  const detail = fittingText(whyUnproven(view), MAX_STATUS_TEXT);
  return { ...fuses, proof: 'Unproven', checkedAt, ...omitUndefined({ detail }) };
}

/** Returns the reason without a full stop. */
function whyUnproven(view: Unproven): string {
  switch (view.type) {
    case 'noProof':
      return 'its own key did not reach the marketplace';
    case 'noFuse':
      return 'no fuse runs on it: its start script has not begun, or removed it';
    case 'unread':
      return view.detail;
  }
}

function unprovenNote(
  view: Unproven,
  { image, instanceId }: Pick<GpuInstanceStatus, 'image' | 'instanceId'>,
): string {
  const what = `Machine ${instanceId} has not proved that it can end itself: ${whyUnproven(view)}.`;
  return `${what} Until it does, only the operator ends it.${view.type === 'noProof' ? remedy(image) : ''}`;
}

function remedy(image: string | undefined): string {
  const known = imageClients(image);
  const [client] = known?.clients ?? [];
  return client === undefined
    ? ` Install ${FUSE_CLIENTS} in the image.`
    : ` ${known?.name} has ${client}: check that the machine reaches the marketplace and trusts its certificate.`;
}

/**
 * Returns the condition LifeFuseFixed while the machine ends itself before the operator would, and an event when that
 * begins. The fuse was set at the rental, and an edit of the limit does not change it.
 */
export function addedFixedFuse(
  { object }: Pick<Facts, 'object'>,
  { status: { fields } }: StatusDecision,
): Added<'LifeFuseFixed'> {
  const detail = fields.instanceId === object.status?.instanceId ? fixedFuse(object) : undefined;
  if (detail === undefined) return {};
  const fixed = conditionState('True', 'LifeFuseFixed', detail);
  const isKnown = findCondition(object.status?.conditions, 'LifeFuseFixed')?.status === 'True';
  const event = { type: 'Warning', reason: 'LifeFuseFixed', action: 'Keeping', note: fixed.message } as const;
  return { conditions: { LifeFuseFixed: fixed }, ...(!isKnown && { events: [event] }) };
}
