<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Three functions that are worth compiling, for so many milliseconds.
function hot_fib(int $n): int
{
	return $n < 2 ? $n : hot_fib($n - 1) + hot_fib($n - 2);
}

function hot_loop(int $n): int
{
	$sum = 0;
	for ($i = 0; $i < $n; $i++)
		$sum = ($sum * 31 + $i) & 0xffffff;
	return $sum;
}

function hot_area(int $n): float
{
	$area = 0.0;
	for ($i = 0; $i < $n; $i++)
		$area += $i % 7;
	return $area;
}

$end = microtime(true) + $argv[1] / 1000;
$sum = 0;
while (microtime(true) < $end)
	$sum += hot_fib(15) + hot_loop(50000) + hot_area(50000);
echo "sum=$sum\n";
