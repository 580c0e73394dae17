/** Figures behind endpoint groups that neither the specification nor the service shows. Times are seconds. */
export interface ScalingSettings {
  /** How often the scaling rule runs. */
  readonly tickSeconds: number;
  /** Span over which arriving load is averaged. */
  readonly rateSeconds: number;
  /** Span whose highest rate steers the cold pool. */
  readonly longSeconds: number;
  /** How long the need for hot workers has to stay below what is hot before one is stopped. */
  readonly scaleDownSeconds: number;
  /** From `running` until a simulated worker has loaded its model; times `boot.scale`. */
  readonly modelLoadSeconds: number;
  /** Units of work per second of a simulated worker, per point of `dlperf`. */
  readonly perfPerDlperf: number;
  /** The same for a group that has no worker yet. */
  readonly unknownPerf: number;
  /** A worker whose reports stop for this long is simulated again, as one that never reported. */
  readonly staleReportSeconds: number;
  /** How long a request that `/route/` could not place stays queued unless it is asked for again. */
  readonly queueSeconds: number;
  /** Port on which workers listen, inside their container. */
  readonly workerPort: number;
  /** Disk of a simulated worker whose template names none, GB. */
  readonly workerDiskGB: number;
  /** Whether deleting a worker group leaves its machines running, as the public service may. */
  readonly keepWorkersOfDeletedGroup: boolean;
}

export const defaultScalingSettings: ScalingSettings = {
  tickSeconds: 10,
  rateSeconds: 60,
  longSeconds: 3600,
  scaleDownSeconds: 120,
  modelLoadSeconds: 20,
  perfPerDlperf: 1,
  unknownPerf: 100,
  staleReportSeconds: 90,
  queueSeconds: 60,
  workerPort: 3000,
  workerDiskGB: 16,
  keepWorkersOfDeletedGroup: true,
};
