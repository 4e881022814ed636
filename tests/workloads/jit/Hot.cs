// SPDX-License-Identifier: GPL-2.0-or-later
// Three functions that are worth compiling, for so many milliseconds.
using System;
using System.Diagnostics;

class Hot {
	static int HotFib(int n) {
		return n < 2 ? n : HotFib(n - 1) + HotFib(n - 2);
	}

	static long HotLoop(int n) {
		long sum = 0;
		for (int i = 0; i < n; i++)
			sum = sum * 31 + i;
		return sum;
	}

	static double HotArea(int n) {
		double area = 0;
		for (int i = 0; i < n; i++)
			area += i % 7;
		return area;
	}

	static void Main(string[] args) {
		var clock = Stopwatch.StartNew();
		double sum = 0;
		while (clock.ElapsedMilliseconds < int.Parse(args[0]))
			sum += HotFib(20) + HotLoop(100000) + HotArea(30000);
		Console.WriteLine("sum=" + sum);
	}
}
