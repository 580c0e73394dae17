import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { believable, FigureError, type LoadRecord } from './state.ts';

/** A load that is written down; the annotation wins over the spec. Throws `FigureError` where it is no load. */
export function staticRecord({ metadata, spec }: EndpointGroup): LoadRecord {
  const annotated = metadata.annotations?.[annotations.staticLoad];
  const load =
    annotated === undefined
      ? Number(spec.load.static?.load ?? 0)
      : annotatedLoad(annotations.staticLoad, annotated);
  return groupRecord(load, Number(spec.load.static?.queue ?? 0));
}

function annotatedLoad(name: string, text: string): number {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text.trim()))
    throw new FigureError(`${name} is not a load; write units per second such as 900`);
  return believable(name, Number(text));
}

/** The record of a source that knows the group as a whole: a rate, and work that waits in front of it. */
export function groupRecord(load: number, waiting: number): LoadRecord {
  return {
    arrived: { type: 'rate', load },
    currentLoad: 0,
    waitingLoad: waiting,
    maxPerf: undefined,
    inFlight: undefined,
    error: '',
  };
}
