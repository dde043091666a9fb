// SPDX-License-Identifier: Apache-2.0
// What code shows: every kind of result that the SDKs know, and charts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withSandbox } from './support.mjs'

const held = withSandbox({ timeoutMs: 300_000 })
const run = (code, options) => held.sandbox.runCode(code, { timeoutMs: 120_000, ...options })

async function only(code) {
  const { results, error } = await run(code)
  assert.equal(error, undefined, error?.traceback)
  assert.equal(results.length, 1)
  return results[0]
}

for (const [kind, code, wanted] of [
  ['html', 'from IPython.display import HTML\nHTML("<b>x</b>")', '<b>x</b>'],
  ['markdown', 'from IPython.display import Markdown\nMarkdown("# x")', '# x'],
  ['svg', 'from IPython.display import SVG\nSVG("<svg xmlns=\'http://www.w3.org/2000/svg\'></svg>")', /<svg/],
  ['latex', 'from IPython.display import Latex\nLatex(r"$\\frac{1}{2}$")', '$\\frac{1}{2}$'],
  ['javascript', 'from IPython.display import Javascript\nJavascript("1 + 1")', '1 + 1'],
  ['png', 'from IPython.display import Image\nimport base64\nImage(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="))', /^iVBOR/],
]) {
  test(`a result can be ${kind}`, async () => {
    const result = await only(code)
    assert.ok(result.formats().includes(kind))
    if (wanted instanceof RegExp) assert.match(result[kind], wanted)
    else assert.equal(result[kind], wanted)
    assert.deepEqual(result.extra, {})
  })
}

test('lists and dictionaries are JSON as well', async () => {
  assert.deepEqual((await only('{"a": [1, None, "x"], "b": {"c": 1.5}}')).json, { a: [1, null, 'x'], b: { c: 1.5 } })
  assert.deepEqual((await only('[1, 2, 3]')).json, [1, 2, 3])
  assert.equal((await only('[object()]')).json, undefined)
})

test('a text loses its quotes', async () => {
  assert.equal((await only("'quoted'")).text, 'quoted')
})

test('what is displayed comes before the main result', async () => {
  const { results } = await run('display("shown")\n"main"')
  assert.deepEqual(results.map((each) => [each.text, each.isMainResult]), [['shown', false], ['main', true]])
})

test('other types are in extra', async () => {
  const { results } = await run('display({"text/plain": "x", "application/x-custom": "y"}, raw=True)')
  assert.equal(results[0].raw.extra['application/x-custom'], 'y')
})

test('a data frame has its columns as data', async () => {
  const result = await only('import pandas as pd\npd.DataFrame({"n": [1, 2], "s": ["a", "b"]})')
  assert.deepEqual(result.data, { n: [1, 2], s: ['a', 'b'] })
  assert.match(result.html, /<table/)
})

const plot = (body) => `import matplotlib.pyplot as plt\nplt.figure()\n${body}\nplt.show()`

test('a line plot is a picture and a chart', async () => {
  const result = await only(plot('plt.plot([1, 2, 3], [10, 20, 15], label="sales")\nplt.xlabel("t (s)")\nplt.ylabel("v [m]")\nplt.title("Speed")'))
  assert.match(result.png, /^iVBOR/)
  assert.equal(result.isMainResult, false)
  assert.deepEqual(result.extra, {})
  const { chart } = result
  assert.equal(chart.type, 'line')
  assert.equal(chart.title, 'Speed')
  assert.deepEqual([chart.x_label, chart.x_unit, chart.y_label, chart.y_unit], ['t (s)', 's', 'v [m]', 'm'])
  assert.deepEqual([chart.x_scale, chart.y_scale], ['linear', 'linear'])
  assert.ok(chart.x_ticks.length > 0 && chart.x_ticks.length === chart.x_tick_labels.length)
  assert.deepEqual(chart.elements, [{ label: 'sales', points: [[1, 10], [2, 20], [3, 15]] }])
})

test('a scatter plot is a chart', async () => {
  const { chart } = await only(plot('plt.scatter([1, 2], [3, 4], label="dots")'))
  assert.equal(chart.type, 'scatter')
  assert.deepEqual(chart.elements, [{ label: 'dots', points: [[1, 3], [2, 4]] }])
})

test('a bar plot is a chart', async () => {
  const { chart } = await only(plot('plt.bar(["a", "b", "c", "d"], [100, 200, 300, 400], label="Books Sold")'))
  assert.equal(chart.type, 'bar')
  assert.deepEqual(chart.elements, [['a', 100], ['b', 200], ['c', 300], ['d', 400]].map(([label, value]) =>
    ({ label, group: 'Books Sold', value })))
})

test('a pie is a chart', async () => {
  const { chart } = await only(plot('plt.pie([90, 10], labels=["x", "y"])'))
  assert.equal(chart.type, 'pie')
  assert.deepEqual(chart.elements.map(({ label, angle, radius }) => [label, Math.round(angle), radius]),
    [['x', 324, 1], ['y', 36, 1]])
})

test('a box plot is a chart', async () => {
  const { chart } = await only(plot('plt.boxplot([[85, 90, 78, 92, 88], [95, 85, 88, 91, 76, 84, 88, 90], [75, 80, 82, 79, 92, 86]])'))
  assert.equal(chart.type, 'box_and_whisker')
  assert.deepEqual(Object.keys(chart.elements[0]).sort(),
    ['first_quartile', 'label', 'max', 'median', 'min', 'outliers', 'third_quartile'])
  assert.deepEqual(chart.elements[0].median, 88)
})

test('several axes are a chart of charts', async () => {
  const { chart } = await only('import matplotlib.pyplot as plt\nfig, (a, b) = plt.subplots(1, 2)\nfig.suptitle("Both")\na.plot([1, 2], [3, 4])\nb.bar(["x", "y"], [1, 2])\nplt.show()')
  assert.equal(chart.type, 'superchart')
  assert.equal(chart.title, 'Both')
  assert.deepEqual(chart.elements.map((each) => each.type), ['line', 'bar'])
})

test('labels and titles that are not there are null', async () => {
  const { chart } = await only(plot('plt.plot([1, 2])'))
  assert.deepEqual([chart.title, chart.x_label, chart.y_label, chart.x_unit, chart.y_unit], [null, null, null, null, null])
})

test('an image that Pillow saves is shown', async () => {
  const { results, error } = await run('from PIL import Image\nImage.new("RGB", (2, 2)).save("saved.png")')
  assert.equal(error, undefined)
  assert.match(results[0].png, /^iVBOR/)
  assert.equal(await held.sandbox.files.exists('saved.png'), true)
})
