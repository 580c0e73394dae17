import type { GpuInstanceSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { diskGB } from '../../../api/v1alpha1/machine-drift.ts';
import { WORKER_TOKEN_ENV } from '../../../api/v1alpha1/names.ts';
import type { OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';
import { omitUndefined } from '../../../lib/json.ts';
import { parseDollars } from '../../../lib/money.ts';
import type { RentRequest } from '../../../marketplace/instances/rent.ts';
import type { InputsView } from '../views.ts';

export interface RentInput {
  readonly spec: GpuInstanceSpec;
  readonly requirements: OfferRequirements;
  readonly inputs: Extract<InputsView, { type: 'ready' }>;
  readonly label: string;
  /** Shown by the worker to the operator and the other way round. */
  readonly workerToken: string;
}

/** The rent call's body in our names (specification 4.5 and what the public service adds). */
export function rentRequest(input: RentInput): RentRequest {
  const { spec, requirements, inputs } = input;
  const bid = parseDollars(requirements.bid);
  return {
    ...omitUndefined({
      image: spec.image,
      onStart: inputs.onStart,
      bidPerHour: bid,
      imageLogin: inputs.imageLogin,
    }),
    diskGB: diskGB(spec),
    label: input.label,
    env: { ...inputs.env, [WORKER_TOKEN_ENV]: input.workerToken },
    ports: (spec.ports ?? []).map(({ containerPort, protocol }) => ({
      port: containerPort,
      protocol: protocol === 'UDP' ? 'udp' : 'tcp',
    })),
    ...(spec.ssh ? { runType: 'ssh_direc ssh_proxy' } : {}),
    cancelUnavailable: true,
  };
}
