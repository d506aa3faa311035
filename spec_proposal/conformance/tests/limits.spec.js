import { group } from '../framework.js';

const g = group(import.meta.url);
const DEFAULTS = { maxComputeBundleCommands: 65536, maxComputeBundleSlots: 16 };

g.test('defaults')
  .desc('A device has the default limits unless more is asked for; an adapter has no less.')
  .covers('limit-commands', 'limit-slots')
  .params({ limit: Object.keys(DEFAULTS) })
  .fn(async (t, { limit }) => {
    const adapter = await t.gpu.requestAdapter();
    t.expect(adapter.limits[limit] >= DEFAULTS[limit], `the adapter should have at least ${DEFAULTS[limit]}`);
    const device = await adapter.requestDevice();
    t.expectEqual(device.limits[limit], DEFAULTS[limit], limit);
  });

g.test('requests')
  .desc('What the adapter has can be asked for, more is refused; less is raised to the default.')
  .covers('limit-commands', 'limit-slots')
  .params({ limit: Object.keys(DEFAULTS), ask: [1, 'the best', 'more'] })
  .fn(async (t, { limit, ask }) => {
    const adapter = await t.gpu.requestAdapter();
    const best = adapter.limits[limit];
    const value = { 'the best': best, more: best + 1 }[ask] ?? ask;
    const request = adapter.requestDevice({ requiredLimits: { [limit]: value } });
    if (ask === 'more') {
      const error = await request.then(() => null, (reason) => reason);
      t.expectEqual(error?.name, 'OperationError', 'the rejection');
    } else {
      t.expectEqual((await request).limits[limit], Math.max(value, DEFAULTS[limit]), limit);
    }
  });
