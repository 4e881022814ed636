// SPDX-License-Identifier: GPL-2.0-or-later
// Three functions that are worth compiling, for so many milliseconds.
function hotFib(n) {
	return n < 2 ? n : hotFib(n - 1) + hotFib(n - 2);
}

function hotLoop(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + i) | 0;
	return sum;
}

class Shape {
	constructor(scale) {
		this.scale = scale;
	}
	hotArea(n) {
		let area = 0;
		for (let i = 0; i < n; i++)
			area += (this.scale * i) % 7;
		return area;
	}
}

const end = Date.now() + Number(process.argv[2] || 3000);
const shape = new Shape(3);
let sum = 0;
while (Date.now() < end)
	sum += hotFib(20) + hotLoop(100000) + shape.hotArea(30000);
console.log("sum=" + sum);
