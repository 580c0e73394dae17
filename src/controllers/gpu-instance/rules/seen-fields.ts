import { annotations } from '../../../api/v1alpha1/names.ts';
import { formatTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { asHandled, replaceIsHandled } from '../due.ts';
import type { Facts } from '../facts.ts';
import { withRow } from '../machine-fields.ts';
import type { StatusFields } from '../types.ts';

/** Everything the row tells; of a machine that runs also the first sight of it running. */
export function seenFields(facts: Facts, row: Instance): StatusFields {
  return row.actualStatus === 'running' ? runningFields(facts, row) : withRow(facts, row);
}

/** A start that worked is forgotten. */
function runningFields(facts: Facts, row: Instance): StatusFields {
  const { startRequestedAt: _worked, progressAt: _loaded, ...fields } = withRow(facts, row);
  const seenAt = formatTime(facts.list?.begunAt ?? facts.now);
  const annotation = facts.object.metadata.annotations?.[annotations.replaceAt];
  return {
    ...fields,
    runningAt: fields.runningAt ?? seenAt,
    ...(annotation !== undefined && replaceIsHandled(facts, annotation)
      ? { replacedAt: asHandled(annotation) }
      : {}),
  };
}
