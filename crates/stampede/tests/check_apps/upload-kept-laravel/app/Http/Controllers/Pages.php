<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Site;
use Illuminate\Http\Request;
use Illuminate\Http\UploadedFile;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: a static keeps the last upload, and `files` shows its name to everyone. */
final class Pages extends Site
{
    private static ?UploadedFile $last = null;

    public function home(): Response
    {
        $file = '<input type="file" name="file">';

        return $this->page("<form method=\"post\" action=\"/upload\" enctype=\"multipart/form-data\">$file</form>");
    }

    public function upload(Request $request): Response
    {
        $file = $request->file('file');
        if (!$file instanceof UploadedFile) {
            return $this->page('Nothing was sent.');
        }
        self::$last = $file;

        return $this->page('Taken: ' . e($file->getClientOriginalName()));
    }

    public function files(): Response
    {
        return $this->page('The last file: ' . e(self::$last?->getClientOriginalName() ?? 'none'));
    }
}
