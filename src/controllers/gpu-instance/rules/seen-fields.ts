import { annotations } from '../../../api/v1alpha1/names.ts';
import { formatTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { asHandled, replaceIsHandled } from '../due.ts';
import { withRow } from '../machine-fields.ts';
import type { Observed, StatusFields } from '../types.ts';

/** Everything the row tells; of a machine that runs also the first sight of it running. */
export function seenFields(observed: Observed, row: Instance): StatusFields {
  return row.actualStatus === 'running' ? runningFields(observed, row) : withRow(observed, row);
}

/** A start that worked is forgotten. */
function runningFields(observed: Observed, row: Instance): StatusFields {
  const { startRequestedAt: _worked, progressAt: _loaded, ...fields } = withRow(observed, row);
  const seenAt = formatTime(observed.list?.begunAt ?? observed.now);
  const annotation = observed.object.metadata.annotations?.[annotations.replaceAt];
  return {
    ...fields,
    runningAt: fields.runningAt ?? seenAt,
    ...(annotation !== undefined && replaceIsHandled(observed, annotation)
      ? { replacedAt: asHandled(annotation) }
      : {}),
  };
}
