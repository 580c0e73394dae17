import { z } from 'zod';
import { looseText, wireId } from './scalars.ts';

/** Body of a rent (specification 4.5 and the other fields that services take). Null counts as not given. */
export const rentBody = z.looseObject({
  image: z.string().nullish(),
  disk: z.number().nullish(),
  env: z.union([z.record(z.string(), z.string()), z.string()]).nullish(),
  price: z.number().nullish(),
  label: z.string().nullish(),
  onstart: z.string().nullish(),
  runtype: z.string().nullish(),
  args: z.array(z.string()).nullish(),
  args_str: z.string().nullish(),
  image_login: z.string().nullish(),
  template_hash_id: z.string().nullish(),
  template_id: z.number().int().nullish(),
  volume_info: z
    .looseObject({
      mount_path: z.string(),
      create_new: z.boolean().optional(),
      volume_id: z.number().int(),
      name: z.string().optional(),
      size: z.number().optional(),
    })
    .nullish(),
  cancel_unavail: z.boolean().nullish(),
  force: z.boolean().nullish(),
  vm: z.boolean().nullish(),
  user: z.string().nullish(),
  extra: z.string().nullish(),
  target_state: z.string().nullish(),
});

/** A rent body as it travels. */
export type WireRent = z.infer<typeof rentBody>;

/** Reply of a rent (specification 4.5). */
export const rentReply = z.object({ new_contract: wireId, instance_api_key: looseText });
